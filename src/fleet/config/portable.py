"""A config as one JSON object that any later fleet on any machine can read and compare.

It says what the home said, not where it lay: paths inside the home are relative to it. The cache
that the hot path loads is `compiled`.
"""

from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from fleet.config.model import HomeConfig
from fleet.records import Body

_OF_THE_MOMENT = ("root", "version", "warning")  # of the files that it was read from


def to_json(config: HomeConfig) -> Body:
    """`config` with all its defaults, without `root`, `version` and `warning`; JSON values only."""
    said = _encoded(config, config.root)
    return {name: value for name, value in said.items() if name not in _OF_THE_MOMENT}


def from_json(said: Body, root: Path, version: str) -> HomeConfig:
    """The config that `to_json` wrote, of a home at `root`.

    Fields that this version does not know are left out, those that it knows more have defaults.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is no such object.
    """
    known = {"root": str(root), "version": version}
    config: HomeConfig = _decoded(HomeConfig, said | known, root)
    return config


def _encoded(value: Any, root: Path) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _encoded(inner, root) for name, inner in value._asdict().items()}
    if isinstance(value, Path):
        return str(value.relative_to(root) if value.is_relative_to(root) else value)
    if isinstance(value, dict):
        return {key: _encoded(inner, root) for key, inner in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_encoded(inner, root) for inner in value] if isinstance(value, tuple) else value


def _decoded(kind: Any, value: Any, root: Path) -> Any:
    if value is None:
        return None
    if hasattr(kind, "_fields"):
        kinds = get_type_hints(kind)
        fields = (name for name in kind._fields if name in value)
        return kind(**{name: _decoded(kinds[name], value[name], root) for name in fields})
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        given = [one for one in inner if one is not type(None)]
        return _decoded(given[0], value, root) if len(given) == 1 else value
    if kind is Path:
        return root / value
    if origin is dict:
        return {key: _decoded(inner[1], one, root) for key, one in value.items()}
    if origin is tuple:
        each = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_decoded(one, part, root) for one, part in zip(each, value, strict=True))
    return frozenset(value) if origin is frozenset else value
