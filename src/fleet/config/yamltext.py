"""YAML 1.2 as plain text and structure, with the line of every part; the only door of ruamel.yaml.

Every scalar stays the text that was written (`on`, `NO`, `007`); what it means is decided by the
field it stands in. Tags are refused, aliases are bounded, and a key that stands twice is a fault.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError

from fleet.errors import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 32
MAX_NODES = 20_000  # scalars, lists and mappings, each alias counted as what it stands for

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | None"
Path: TypeAlias = tuple[str | int, ...]

_NULLS = frozenset({"null", "Null", "NULL", "~"})
_STRING_TAGS = frozenset({None, "!", "tag:yaml.org,2002:str"})
_ENTRY = re.compile(r"""\s*((?:-\s+)*)(?>(?:([\w-]+):\s+)?)((?!["'])\S.*?)\s*""")
_NEEDS_QUOTES = re.compile(r"""[*&!@`%|>]|\{\{|[^\[{].*:(?:\s|$)""")
_QUOTE_ADVICE = "put quotes round a text that begins with a mark like * @ & ! % { or holds ': '"
UNMERGED = "the mark of an unfinished merge"
KEEP_ONE = "keep one of the two versions and remove the marks"


@dataclass(frozen=True, slots=True)
class Document:
    """What one file says.

    Attributes:
        file: its name, relative to the home.
        tree: the mapping at its top.
        lines: 1-based line of each key and list item, by its path.
        spans: where each value stands in the text: its first character and the one after its
            last. A value in block style ends with the last value in it.
        flow: the paths of lists and mappings that are written in brackets.
    """

    file: str
    tree: dict[str, Tree]
    lines: dict[Path, int]
    spans: dict[Path, tuple[int, int]] = field(default_factory=dict)
    flow: frozenset[Path] = frozenset()

    def line(self, path: Path) -> int:
        """The line of `path`, or of the nearest part above it that has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


def read(data: bytes, file: str) -> tuple[Document | None, list[Finding]]:
    """The document in `data`, and every fault; None when it cannot be understood as a whole."""
    text, fault = _decode(data)
    if fault:
        return None, [_finding(file, fault)]
    reader = _Reader(text, file)
    try:
        tree = reader.document()
    except _Broken as broken:
        return None, [*reader.findings, _finding(file, broken)]
    except ReaderError as unreadable:
        line = text.count("\n", 0, unreadable.position) + 1
        what = f"a character that YAML does not allow (#x{unreadable.character:04x})"
        return None, [_finding(file, _Broken(line, what, "remove it"))]
    except MarkedYAMLError as marked:
        return None, [*reader.findings, _finding(file, _explain(marked, text))]
    except YAMLError as other:
        return None, [_finding(file, _Broken(1, f"not YAML: {' '.join(str(other).split())}"))]
    except RecursionError:
        return None, [_finding(file, _Broken(1, f"nested deeper than {MAX_DEPTH} levels"))]
    flow = frozenset(reader.flow)
    return Document(file, tree, reader.lines, reader.spans, flow), reader.findings


class _Broken(Exception):
    """A fault after which the rest of the file cannot be understood."""

    def __init__(self, line: int, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.line, self.what, self.fix = line, what, fix


def _finding(file: str, broken: _Broken) -> Finding:
    return Finding("error", file, broken.line, broken.what, broken.fix)


def _decode(data: bytes) -> tuple[str, _Broken | None]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        what = f"byte 0x{data[fault.start]:02x} is not UTF-8"
        return "", _Broken(line, what, "save the file as UTF-8")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return "", _Broken(line, "a NUL byte", "save the file as UTF-8 text")
    return text, None


@dataclass
class _Reader:
    """One pass over the parser's events."""

    text: str
    file: str
    lines: dict[Path, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    spans: dict[Path, tuple[int, int]] = field(default_factory=dict)
    flow: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._events: Iterator[Any] = iter(YAML(typ="safe", pure=True).parse(self.text))
        self._anchors: dict[str, tuple[Tree, int]] = {}
        self._nodes = 0
        self._end = 0  # after the last character of the newest value

    def document(self) -> dict[str, Tree]:
        next(self._events)  # the stream's start
        first = next(self._events)
        if not isinstance(first, DocumentStartEvent):
            raise _Broken(1, "the file is empty", "write what it shall say, or restore it")
        event = next(self._events)
        tree = self._value(event, (), 1)
        while not isinstance(event := next(self._events), StreamEndEvent):
            if not isinstance(event, DocumentEndEvent):
                line = event.start_mark.line + 1
                raise _Broken(line, "a second document (---) begins", "keep one, without ---")
        if not isinstance(tree, dict):
            raise _Broken(1, "the file is no mapping", "write lines like `description: …`")
        return tree

    def _value(self, event: Any, path: Path, depth: int) -> Tree:
        line = event.start_mark.line + 1
        self._end = event.end_mark.index
        if isinstance(event, AliasEvent):
            self.spans[path] = event.start_mark.index, self._end
            return self._alias(event.anchor, line)
        if event.tag not in _STRING_TAGS:
            raise _Broken(
                line, f"'{event.tag}' reads as a YAML tag", self._quote(line) or _QUOTE_ADVICE
            )
        if depth > MAX_DEPTH:
            raise _Broken(line, f"nested deeper than {MAX_DEPTH} levels")
        before = self._nodes
        self._count(1, line)
        tree: Tree
        if isinstance(event, ScalarEvent):
            tree = self._scalar(event, path, line)
        elif isinstance(event, SequenceStartEvent):
            tree = self._list(path, depth, flow=event.flow_style)
        else:
            tree = self._mapping(path, depth, flow=event.flow_style)
        if event.anchor:
            self._anchors[event.anchor] = (tree, self._nodes - before)
        self.spans[path] = event.start_mark.index, self._end
        return tree

    def _scalar(self, event: Any, path: Path, line: int) -> str | None:
        text: str = event.value
        if "\0" in text or any("\ud800" <= mark <= "\udfff" for mark in text):
            raise _Broken(line, "an escape that stands for no character", "take it out")
        if event.style is None and not event.tag:
            if text in _NULLS:
                return None
            if not text:
                name = f"'{path[-1]}'" if path and isinstance(path[-1], str) else "an entry"
                self._fault(line_of(self.lines, path, line), f"{name} has no value", "write one")
        return text

    def _list(self, path: Path, depth: int, *, flow: bool) -> list[Tree]:
        found: list[Tree] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            here = (*path, len(found))
            self.lines[here] = event.start_mark.line + 1
            found.append(self._value(event, here, depth + 1))
        self._close(event, path, flow=flow)
        return found

    def _mapping(self, path: Path, depth: int, *, flow: bool) -> dict[str, Tree]:
        found: dict[str, Tree] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            key, line = self._key(event)
            here = (*path, key)
            if key in found:
                what = f"'{key}' stands here and on line {self.lines[here]}"
                self._fault(line, what, "keep one of them")
                here = (*path, key, "(again)")
            self.lines.setdefault(here, line)
            value = self._value(next(self._events), here, depth + 1)
            found.setdefault(key, value)
        self._close(event, path, flow=flow)
        return found

    def _close(self, end: Any, path: Path, *, flow: bool) -> None:
        """Brackets end where they close; a block ends where the last value in it does."""
        if flow:
            self._end = end.end_mark.index
            self.flow.add(path)

    def _key(self, event: Any) -> tuple[str, int]:
        line = event.start_mark.line + 1
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            raise _Broken(line, "a key that is no word", self._quote(line) or _QUOTE_ADVICE)
        key = self._value(event, ("a key",), 1)
        del self.spans["a key",]
        if not isinstance(key, str):
            raise _Broken(line, "a key that is no word", "put quotes round it")
        return key, line

    def _alias(self, name: str, line: int) -> Tree:
        if name not in self._anchors:
            what = (
                f"a value that begins with * reads as an alias, and there is no &{name} before it"
            )
            raise _Broken(line, what, self._quote(line) or _QUOTE_ADVICE)
        tree, nodes = self._anchors[name]
        self._count(nodes, line)
        return tree

    def _count(self, nodes: int, line: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise _Broken(line, f"more than {MAX_NODES} values, aliases included", "shorten it")

    def _fault(self, line: int, what: str, fix: str) -> None:
        self.findings.append(Finding("error", self.file, line, what, fix))

    def _quote(self, line: int) -> str:
        return quotes(self.text, line)


def line_of(lines: dict[Path, int], path: Path, default: int) -> int:
    """The line of the key at `path`; an empty value's own mark stands on the line after it."""
    return lines.get(path, default)


def _explain(fault: MarkedYAMLError, text: str) -> _Broken:
    """The parser's complaint in one line, at the line where a person has to look."""
    if merge := merge_mark(text):
        return _Broken(merge, UNMERGED, KEEP_ONE)
    context = fault.context or ""
    begins_there = "flow" in context or "quoted" in context
    mark = fault.context_mark if begins_there and fault.context_mark else fault.problem_mark
    line = mark.line + 1 if mark else 1
    if _at(text, line)[:1] == "\t" or "'\\t'" in f"{fault.problem}":
        return _Broken(line, "a tab where YAML wants spaces", "indent with spaces")
    problem = _problem(fault, context)
    if begins_there:
        return _Broken(line, f"not YAML: {problem}", "close it, or put a comma between the parts")
    return _Broken(line, f"not YAML: {problem}", quotes(text, line) or _QUOTE_ADVICE)


def merge_mark(text: str) -> int:
    """The line of the first mark that git leaves where it could not merge, 0 without one."""
    at = f"\n{text}".find("\n<<<<<<< ")
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def _problem(fault: MarkedYAMLError, context: str) -> str:
    problem = " ".join(f"{fault.problem}".split())
    if "quoted" in context:
        return "the quote that opens here is not closed"
    if "flow" in context:
        return f"the bracket that opens here is not closed ({problem})"
    if "alias" in context or "anchor" in context:
        return "a value that begins with * or & reads as an alias or an anchor"
    if "mapping values" in problem:
        return "a second ': ' in one value, or lines that are not indented alike"
    return problem


def quotes(text: str, line: int) -> str:
    """How to quote the value on `line`, or "" when quotes would not help there."""
    entry = _ENTRY.fullmatch(_at(text, line))
    if not entry or not _NEEDS_QUOTES.match(entry[3]):
        return ""
    value = entry[3]
    quoted = f'"{value}"' if '"' not in value and "\\" not in value else _single(value)
    if entry[2]:
        return f"put quotes round the {entry[2]}: {entry[2]}: {quoted}"
    return f"put quotes round it: {entry[1]}{quoted}"


def _single(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _at(text: str, line: int) -> str:
    lines = text.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""
