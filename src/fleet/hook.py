"""The CLI's PreToolUse hook: allows a Bash call that is nothing but literal calls of fleet.

A program of its own: one JSON object on stdin, on stdout the decision `allow` or nothing, always
exit 0. It never denies and never asks: where it is silent the CLI's own rules decide. Standard
library only, and little of it (no pattern is compiled), since it runs before every Bash call.

What it allows is one or more calls, on lines of their own or joined by `&&`:

    call     fleet, then words and here-documents, each after blanks
    word     plain characters, '…' and "…" in any mix
    heredoc  << and a name in quotes; its body after the line, closed by that name

in which no shell expands, substitutes, redirects, assigns or forks anything. The reader below
knows only these forms and gives up at the first character that belongs to none of them.
"""

import json
import os
import sys
from string import ascii_letters, digits

MAX_INPUT = 1 << 20  # bytes of hook input; a longer one is not judged

_BLANKS = frozenset(" \t")
_AFTER_A_NAME = frozenset({"", " ", "\t", "\n"})
_NAME = frozenset(ascii_letters + digits + "_")
_PLAIN = _NAME | frozenset("./,:+@%!-")
_INSIDE = frozenset("#=")  # plain but at a word's start: a comment, and zsh's search for a command
_BYTES = bytes([9, 10, *range(0x20, 0x7F), *range(0x80, 0x100)])  # no control character but these
_JUDGED = frozenset({"command", "description", "timeout"})
_ALLOW = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "nothing but fleet, with literal arguments",
    }
}


class _UnknownFormError(Exception):
    """The text is not one of the forms that are known here."""


class _Reader:
    """Reads one command text from its start; every method moves past what it has read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[str] = []  # here-documents of this line, whose bodies come after it

    def calls(self) -> int:
        """How many calls of fleet the text is.

        Raises:
            _UnknownFormError: it is something else, or holds something else.
        """
        count = 0
        while self._skip_blanks() or self._next():
            if self._next() and not self._newline():
                count += self._line()
        if self._open:
            raise _UnknownFormError
        return count

    def _line(self) -> int:
        count = 0
        while True:
            self._call()
            count += 1
            if not self._text.startswith("&&", self._at):
                break
            self._at += 2
            self._skip_blanks()
        if self._next() and not self._newline():
            raise _UnknownFormError
        return count

    def _call(self) -> None:
        after = self._at + len("fleet")
        if (
            self._text[self._at : after] != "fleet"
            or self._text[after : after + 1] not in _AFTER_A_NAME
        ):
            raise _UnknownFormError
        self._at = after
        while self._skip_blanks() and self._next() not in {"", "\n", "&"}:
            if self._next() == "<":
                self._heredoc()
            else:
                self._word()

    def _word(self) -> None:
        start = self._at
        while char := self._next():
            if char in _PLAIN or (self._at > start and self._is_inside(char)):
                self._at += 1
            elif char == "'":
                self._single_quotes()
            elif char == '"':
                self._double_quotes()
            else:
                break
        # Which line a body follows must be beyond doubt.
        if self._at == start or (self._open and "\n" in self._text[start : self._at]):
            raise _UnknownFormError

    def _is_inside(self, char: str) -> bool:
        """Whether `char` is plain here, inside a word: so is the tilde of `outreach~1`."""
        return char in _INSIDE or (char == "~" and self._text[self._at - 1] in _NAME)

    def _single_quotes(self) -> None:
        self._at = self._find("'", self._at + 1) + 1

    def _double_quotes(self) -> None:
        at = self._at + 1
        while (char := self._text[at : at + 1]) != '"':
            if char in {"", "$", "`"} or self._text.startswith("\\\n", at):
                raise _UnknownFormError
            at += 2 if char == "\\" else 1
        self._at = at + 1

    def _heredoc(self) -> None:
        if not self._text.startswith("<<", self._at):
            raise _UnknownFormError
        self._at += 2
        self._skip_blanks()
        quote, start = self._next(), self._at + 1
        if quote not in {"'", '"'}:
            raise _UnknownFormError
        end = self._find(quote, start)
        name, self._at = self._text[start:end], end + 1
        if not name or not _NAME.issuperset(name) or self._next() not in _AFTER_A_NAME:
            raise _UnknownFormError
        self._open.append(name)

    def _newline(self) -> bool:
        """Past the end of a line and the bodies that follow it; False when there is none here."""
        if self._next() != "\n":
            return False
        self._at += 1
        for name in self._open:
            self._body(name)
        self._open.clear()
        return True

    def _body(self, name: str) -> None:
        line = ""
        while line != name:
            if not self._next():
                raise _UnknownFormError
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            line, self._at = self._text[self._at : end], end + 1

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _find(self, what: str, start: int) -> int:
        found = self._text.find(what, start)
        if found < 0:
            raise _UnknownFormError
        return found

    def _skip_blanks(self) -> bool:
        start = self._at
        while self._next() in _BLANKS:
            self._at += 1
        return self._at > start


def is_fleet_only(command: str) -> bool:
    """Whether a shell would run nothing but fleet for `command`, and expand nothing in it."""
    try:
        if command.encode().translate(None, _BYTES):
            return False
        return _Reader(command).calls() > 0
    except (_UnknownFormError, UnicodeEncodeError):
        return False


def decide(said: object) -> str:
    """The answer to a hook's input: the JSON text of an `allow`, or "" for silence."""
    if not isinstance(said, dict) or said.get("hook_event_name") != "PreToolUse":
        return ""
    call = said.get("tool_input")
    if said.get("tool_name") != "Bash" or not isinstance(call, dict):
        return ""
    # What else may be asked for (no sandbox, the background) is not for this hook to allow.
    if any(value for name, value in call.items() if name not in _JUDGED):
        return ""
    command = call.get("command")
    return json.dumps(_ALLOW) if isinstance(command, str) and is_fleet_only(command) else ""


def main() -> None:
    """Answer one hook call; damaged input is answered with silence."""
    try:
        text = sys.stdin.buffer.read(MAX_INPUT + 1)
        answer = decide(json.loads(text)) if len(text) <= MAX_INPUT else ""
        os.write(1, answer.encode())  # at once, so that nothing is left to fail at exit
    except (ValueError, RecursionError, OSError, AttributeError):
        return


if __name__ == "__main__":
    main()
