"""Edits of the operator's YAML that leave every byte alone which they are not about.

An edit replaces a stretch of the text, reads the result, and is refused unless exactly what was
meant has changed; nothing here writes a file.
"""

import copy
import json
import re
from typing import Any, cast

from fleet.config import yamltext
from fleet.config.yamltext import Path, Tree
from fleet.errors import Rejected

_BOM = b"\xef\xbb\xbf"
_WORD = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*")
_WORDS_OF_YAML = frozenset({"null", "Null", "NULL"})


def first_line(field: str, written: str) -> bytes:
    """A file that says one thing: `field` as `written` by a person; `Edit` adds the rest."""
    return f"{field}: {_typed(written)[1]}\n".encode()


class Edit:
    """The text of one file, changed step by step.

    Every method raises `Rejected` where it cannot be done without touching more than was meant
    (behind an alias, for example), or where there is nothing at the path.
    """

    def __init__(self, data: bytes, file: str) -> None:
        self._file = file
        self._bom = data.startswith(_BOM)
        self._text = data.decode("utf-8-sig")
        self._document = self._read(self._text)

    @property
    def tree(self) -> dict[str, Tree]:
        """What the file says now."""
        return self._document.tree

    @property
    def data(self) -> bytes:
        """The bytes of the file as it is now."""
        return (_BOM if self._bom else b"") + self._text.encode()

    def replace(self, path: Path, word: str) -> None:
        """Write `word` in place of the text at `path`, in the same quotes."""
        begin, end = self._span(path)
        quote = self._text[begin]
        written = f"{quote}{word}{quote}" if quote in "'\"" else _scalar(word)
        self._splice(begin, end, written, _with(self.tree, path, word))

    def remove(self, path: Path) -> None:
        """Take an item out of a list, with its line where it has one."""
        parent, index = path[:-1], cast("int", path[-1])
        count = len(_at(self.tree, parent))
        begin, end = self._span(path)
        wanted = _without(self.tree, path)
        if parent in self._document.flow:
            if index + 1 < count:
                end = self._span((*parent, index + 1))[0]
            elif index:
                begin = self._span((*parent, index - 1))[1]
            self._splice(begin, end, "", wanted)
        elif count == 1:
            self._exchange(parent, "[]", wanted)
        else:
            line = self._text.rfind("\n", 0, begin) + 1
            after = self._text.find("\n", end) + 1 or len(self._text)
            self._splice(line, after, "", wanted)

    def put(self, path: Path, written: str) -> None:
        """Let the field at `path` say `written`, as a person would type it after the colon."""
        value, text = _typed(written)
        if _has(self.tree, path):
            self._exchange(path, text, _with(self.tree, path, value))
            return
        parent, key = path[:-1], str(path[-1])
        if not _has(self.tree, parent) or _at(self.tree, parent) in (None, {}):
            self.put(parent, f"{{{key}: {text}}}")
            return
        if not isinstance(_at(self.tree, parent), dict):
            raise self._impossible(parent, "holds no fields")
        self._add(parent, f"{key}: {text}", _with(self.tree, path, value))

    def append(self, path: Path, word: str) -> None:
        """Add a text to the list at `path`, which begins with it where there is none."""
        listed = _at(self.tree, path) if _has(self.tree, path) else None
        if not listed:
            self.put(path, f"[{_scalar(word)}]")
            return
        if not isinstance(listed, list):
            raise self._impossible(path, "is no list")
        here = (*path, len(listed) - 1)
        begin, end = self._span(here)
        wanted = _with(self.tree, path, [*listed, word])
        if path in self._document.flow:
            self._splice(end, end, f", {_scalar(word)}", wanted)
        else:
            line = self._text.rfind("\n", 0, begin) + 1
            dash = self._text[line:begin]
            after = self._text.find("\n", end) + 1
            head = "" if after else "\n"
            after = after or len(self._text)
            self._splice(after, after, f"{head}{dash}{_scalar(word)}\n", wanted)

    def _exchange(self, path: Path, text: str, wanted: dict[str, Tree]) -> None:
        """Put `text` in place of a whole value; a block may stand at the margin, brackets not."""
        begin, end = self._span(path)
        margin = " " if self._text[:begin].endswith("\n") else ""
        self._splice(begin, end, margin + text, wanted)

    def _add(self, parent: Path, entry: str, wanted: dict[str, Tree]) -> None:
        """A new entry behind the last one of the mapping at `parent`."""
        begin, end = self._span(parent)
        if parent in self._document.flow:
            last = max(
                stop for path, (_, stop) in self._document.spans.items() if path[:-1] == parent
            )
            self._splice(last, last, f", {entry}", wanted)
            return
        indent = " " * (begin - self._text.rfind("\n", 0, begin) - 1)
        newline = "\r\n" if "\r\n" in self._text else "\n"
        after = self._text.find("\n", end) + 1
        head = "" if after else newline
        after = after or len(self._text)
        self._splice(after, after, f"{head}{indent}{entry}{newline}", wanted)

    def _span(self, path: Path) -> tuple[int, int]:
        if path not in self._document.spans:
            raise self._impossible(path, "cannot be reached (behind an alias?)")
        return self._document.spans[path]

    def _splice(self, begin: int, end: int, new: str, wanted: dict[str, Tree]) -> None:
        text = self._text[:begin] + new + self._text[end:]
        document = self._read(text)
        if document.tree != wanted:
            raise self._impossible((), "would change in more than one place")
        self._text, self._document = text, document

    def _read(self, text: str) -> yamltext.Document:
        document, findings = yamltext.read(text.encode(), self._file)
        if document is None:
            raise Rejected(f"{self._file} cannot be edited: {findings[0]}", "edit it by hand")
        return document

    def _impossible(self, path: Path, what: str) -> Rejected:
        where = ".".join(map(str, path))
        return Rejected(f"{self._file}: {where} {what}".replace(":  ", ": "), "edit it by hand")


def _scalar(word: str) -> str:
    """A text as YAML: plain where that is what it says, else in double quotes."""
    if _WORD.fullmatch(word) and word not in _WORDS_OF_YAML:
        return word
    return json.dumps(word, ensure_ascii=False)


def _typed(written: str) -> tuple[Tree, str]:
    """What a typed value means, and how it is written; what is no YAML is a text in quotes."""
    document, findings = yamltext.read(f"value: {written}\n".encode(), "")
    if document is None or findings or "\n" in written or list(document.tree) != ["value"]:
        return written, json.dumps(written, ensure_ascii=False)
    begin, end = document.spans["value",]
    return document.tree["value"], f"value: {written}"[begin:end]


def _has(tree: Any, path: Path) -> bool:
    for part in path:
        inside = part in tree if isinstance(tree, dict) else False
        if not inside and not (isinstance(tree, list) and part in range(len(tree))):
            return False
        tree = tree[part]
    return True


def _at(tree: Any, path: Path) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _with(tree: dict[str, Tree], path: Path, value: Tree) -> dict[str, Tree]:
    changed = copy.deepcopy(tree)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def _without(tree: dict[str, Tree], path: Path) -> dict[str, Tree]:
    changed = copy.deepcopy(tree)
    del _at(changed, path[:-1])[path[-1]]
    return changed
