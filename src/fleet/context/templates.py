"""The only door of jinja2: renders an operator's template under limits, two blocks at once.

Templates come from the home's prompts/ and nowhere else; data is inserted and never rendered.
A template is the operator's own, so the limits guard against mistakes: a loop without end, a huge
text, a misspelt name. They hold for time, for memory and for output.
"""

import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import FrameType, TracebackType
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, Template, TemplateNotFound
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from fleet.context.data import CLOSE, OPEN, Fields, names_of
from fleet.errors import EndedBadly
from fleet.text import ARMED_AT, ZERO_WIDTH_SPACE, suggest

BLOCKS = ("context", "task")
MAX_SECONDS = 2.0
MAX_OUTPUT = 1 << 20  # characters of both blocks together
MAX_MEMORY = 512 << 20  # bytes that rendering may add to the process
MAX_FILE = 256 << 10  # bytes of a template
MAX_BITS = 1 << 14  # of a number that a template computes
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*", re.ASCII)


class RenderFailed(EndedBadly):
    """A template could not be rendered; the message names it and, where there is one, the line."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """Both blocks with their marks, and by name the text of each template that took part."""

    context: str
    task: str
    templates: dict[str, str]


class _TooMuch(Exception):
    """A limit was reached."""


class _Missing(StrictUndefined):
    """An unknown name is an error that says what there is."""

    @property
    def _undefined_message(self) -> str:
        name = str(self._undefined_name)
        if self._undefined_obj is missing:
            return _with_hint(f"'{name}' is not known here", name, VARIABLES)
        if isinstance(self._undefined_obj, Fields):
            owner, names = names_of(self._undefined_obj)
            return _with_hint(f"'{owner}' has no '{name}'", name, names)
        return super()._undefined_message


VARIABLES = (
    *("agent", "fleet", "run", "now", "you", "awareness", "corrections", "events", "channels"),
    *("inbox", "memory", "metrics", "team", "knowledge", "matches", "how_to"),
)


def _with_hint(what: str, name: str, known: "tuple[str, ...] | list[str]") -> str:
    return f"{what}, {suggest(name, known) or 'there are ' + ', '.join(known)}"


class _Texts(BaseLoader):
    """Serves texts of another day, by name."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = dict(sources)

    def get_source(
        self,
        environment: Environment,  # noqa: ARG002 - jinja's signature
        template: str,
    ) -> tuple[str, str | None, Callable[[], bool]]:
        """The text of `template`; it never changes."""
        if template not in self.sources:
            raise TemplateNotFound(template)
        return self.sources[template], None, lambda: True


class _Folder(BaseLoader):
    """Loads from one folder: no names that climb out, no links that lead out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.sources: dict[str, str] = {}

    def get_source(
        self,
        environment: Environment,  # noqa: ARG002 - jinja's signature
        template: str,
    ) -> tuple[str, str, Callable[[], bool]]:
        """The text of `template`, its path, and whether it is still that file."""
        path = self._path(template)
        stamp = _stamp(path)
        source = _decoded(template, path.read_bytes())
        self.sources[template] = source
        return source, str(path), lambda: _stamp(path) == stamp

    def _path(self, name: str) -> Path:
        root = self._folder.resolve()
        path = (root / name).resolve()
        if not _NAME.fullmatch(name) or not path.is_relative_to(root) or not path.is_file():
            raise TemplateNotFound(name)
        return path


def _decoded(name: str, data: bytes) -> str:
    if len(data) > MAX_FILE:
        raise TemplateSyntaxError(f"over {MAX_FILE} bytes", 1, name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise TemplateSyntaxError("not UTF-8", 1, name) from None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class _Sandbox(ImmutableSandboxedEnvironment):
    """Marks the two blocks, remembers which templates took part, bounds what numbers may do."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, files: _Folder | _Texts) -> None:
        self.files = files
        self.used: set[str] = set()
        super().__init__(
            loader=files,
            undefined=_Missing,
            autoescape=False,  # prompts are no HTML; data is made harmless before
            keep_trailing_newline=True,
        )

    def _load_template(self, name: str, globals: Any) -> Template:  # noqa: A002 - jinja's own
        template = super()._load_template(name, globals)
        self.used.add(name)
        for block in BLOCKS:
            if block in template.blocks and not isinstance(template.blocks[block], _Marked):
                template.blocks[block] = _Marked(block, template.blocks[block])
        return template

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The operators `*` and `**`, refused where one step could cost without bound."""
        if operator == "**":
            size = _bits(left) * max(1, abs(right)) if isinstance(right, (int, float)) else 0
        elif isinstance(left, (int, float)) and isinstance(right, (int, float)):
            size = _bits(left) + _bits(right)
        else:
            size = 0  # a repeated text or list: the memory limit sees it
        if size > MAX_BITS:
            raise SecurityError(f"a number of over {MAX_BITS} bits")
        return super().call_binop(context, operator, left, right)


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 64


class _Marked:
    """A block that prints marks around itself; equal to what it wraps, which `super()` needs."""

    __slots__ = ("_block", "_render")

    def __init__(self, block: str, render: Callable[[Context], Iterator[str]]) -> None:
        self._block = block
        self._render = render

    def __call__(self, context: Context) -> Iterator[str]:
        yield f"{OPEN}<{self._block}{CLOSE}"
        yield from self._render(context)
        yield f"{OPEN}>{self._block}{CLOSE}"

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._render

    def __hash__(self) -> int:
        return hash(self._render)


_EDGE = re.compile(f"{OPEN}([<>])({'|'.join(BLOCKS)}){CLOSE}")
_sandboxes: dict[Path, _Sandbox] = {}  # compiled templates stay warm in a process that builds many
_lock = Lock()


def render(
    templates: Path | Mapping[str, str], name: str, variables: Mapping[str, object]
) -> Rendered:
    """Both blocks of template `name`.

    Args:
        templates: the home's prompts/, or texts by name.
        name: the file's name there.
        variables: `VARIABLES` and their values, harmless already.

    Raises:
        RenderFailed: no such template, bad syntax, an unknown name, a missing block, a limit.
    """
    with _lock:
        sandbox = _sandbox(templates)
        sandbox.used.clear()
        try:
            with _limits():  # compiling computes constants
                template = sandbox.get_template(name)
                text = _bounded(template.root_render_func(template.new_context(dict(variables))))
        except TemplateNotFound as error:
            what = f"there is no template prompts/{error.name}"
            place = _place(error.__traceback__)  # of what includes it; none for the agent's own
            raise RenderFailed(f"{place}: {what}" if place else what) from error
        except TemplateSyntaxError as error:
            raise RenderFailed(f"prompts/{error.name}:{error.lineno}: {error.message}") from error
        except MemoryError as error:
            raise _failed(name, error, f"takes over {MAX_MEMORY >> 20} MiB") from error
        except (
            *(_TooMuch, TemplateError, ArithmeticError, LookupError, AttributeError),
            *(TypeError, ValueError, RuntimeError),
        ) as error:  # whatever an expression may raise
            raise _failed(name, error, str(error)) from error
        parts = _blocks(name, text)
        sources = {used: sandbox.files.sources[used] for used in sorted(sandbox.used)}
    own = {path for source in sources.values() for path in _own_paths(source)}
    return Rendered(_disarmed(parts["context"], own), _disarmed(parts["task"], own), sources)


def fault_of(name: str, data: bytes) -> str:
    """What keeps a template with these bytes from being read at all; "" when nothing does."""
    try:
        _Sandbox(_Texts({})).parse(_decoded(name, data), name)
    except TemplateSyntaxError as error:
        return f"prompts/{name}:{error.lineno}: {error.message}"
    return ""


def _sandbox(templates: Path | Mapping[str, str]) -> _Sandbox:
    if not isinstance(templates, Path):
        return _Sandbox(_Texts(templates))
    if templates not in _sandboxes:
        _sandboxes[templates] = _Sandbox(_Folder(templates))
    return _sandboxes[templates]


def _own_paths(source: str) -> list[str]:
    """Each `@path` that stands in a template's own text."""
    return re.findall(f"{ARMED_AT}\\S+", re.sub(r"(?s){%.*?%}|{#.*?#}", "\n", source))


def _disarmed(text: str, own: set[str]) -> str:
    """Every `@path` is broken but those that the operator wrote into the template himself."""

    def keep(found: re.Match[str]) -> str:
        word = found.group()
        return word if word in own else f"@{ZERO_WIDTH_SPACE}{word[1:]}"

    return re.sub(f"{ARMED_AT}\\S*", keep, text)


def _bounded(chunks: Iterator[str]) -> str:
    parts: list[str] = []
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_OUTPUT:
            raise _TooMuch(f"prints over {MAX_OUTPUT} characters")
        parts.append(chunk)
    return "".join(parts)


def _blocks(name: str, text: str) -> dict[str, str]:
    """What each block printed; a block inside itself (`super()`) belongs to it."""
    parts: dict[str, list[str]] = {}
    inside: list[str] = []
    pieces = iter(_EDGE.split(text))
    for piece in pieces:
        if inside:
            parts[inside[0]].append(piece)
        edge, block = next(pieces, ""), next(pieces, "")
        if edge == "<":
            inside.append(block)
            parts.setdefault(block, [])
        elif edge == ">":
            inside.pop()
    for block in BLOCKS:
        if not "".join(parts.get(block, [])).strip():
            raise RenderFailed(
                f"prompts/{name}: its block '{block}' is missing or empty",
                'begin with {% extends "base.md.j2" %} and write {% block task %}',
            )
    return {block: "".join(parts[block]) for block in BLOCKS}


def _failed(name: str, error: BaseException, what: str) -> RenderFailed:
    place = _place(error.__traceback__) or f"prompts/{name}"
    return RenderFailed(f"{place}: {what or type(error).__name__}")


def _place(trace: TracebackType | None) -> str:
    """Template and line of the innermost template frame."""
    place = ""
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, Template):
            line = template.get_corresponding_lineno(trace.tb_lineno)
            place = f"prompts/{template.name}:{line}"
        trace = trace.tb_next
    return place


# Limits ----------------------------------------------------------------------------------------


@contextmanager
def _limits() -> Iterator[None]:
    """Time by a trace on this thread's frames, memory by the process's address space."""
    deadline = time.monotonic() + MAX_SECONDS
    before = sys.gettrace()

    def watch(frame: FrameType, _event: str, _arg: object) -> Any:
        if time.monotonic() > deadline:
            raise _TooMuch(f"takes longer than {MAX_SECONDS:g} s")
        return watch if "__jinja_template__" in frame.f_globals else None

    with _memory():
        sys.settrace(watch)
        try:
            yield
        finally:
            sys.settrace(before)


@contextmanager
def _memory() -> Iterator[None]:
    """Allocations of over `MAX_MEMORY` more than now fail, where the system tells what is used."""
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used * resource.getpagesize() + MAX_MEMORY
    allowed = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *allowed]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
