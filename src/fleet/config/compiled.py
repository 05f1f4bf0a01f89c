"""The compiled config: what the hot path loads, with no YAML, no pydantic, only a look at times.

The cache holds the last config that had no fault, and beside it, while the files are broken, that
config once more with the warning. Each is used only while its fingerprint fits the files.
"""

import marshal
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import fleet
from fleet.config import fingerprint, model
from fleet.config.fingerprint import YOUNG, Stamp
from fleet.config.model import HomeConfig
from fleet.errors import BadHome, Finding
from fleet.places import HOME_FILE

if TYPE_CHECKING:
    from fleet.ports import Cache

GOOD = "config"
BROKEN = "config-broken"

Packed: TypeAlias = Any
_SHAPES: tuple[type, ...] = (
    HomeConfig,
    model.Agent,
    model.Channel,
    model.Schedule,
    model.Budget,
    model.Retries,
    model.WakeOn,
    model.Expects,
    model.Expectation,
    model.ContextBudget,
    model.SectionBudget,
    model.Claude,
    model.Limits,
    model.Vital,
    model.Heartbeat,
)
_PATH, _TUPLE, _DICT = -1, -2, -3
_CODE = tuple(  # what decides the meaning of files
    f"{module}.py"
    for module in (
        "build",
        "crosscheck",
        "files",
        "model",
        "resolve",
        "sources",
        "values",
        "yamltext",
    )
)


def load(root: Path, cache: "Cache") -> HomeConfig:
    """The config of the home at `root` (absolute), from the cache while no file has changed.

    What it returns is the last good config from then on.

    Raises:
        BadHome: a file has a fault; `findings` are all of them.
    """
    return open_config(root, cache, tolerant=False)


def open_config(root: Path, cache: "Cache", *, tolerant: bool) -> HomeConfig:
    """The config of the home at `root` (absolute), from the cache while no file has changed.

    Args:
        root: the home.
        cache: where compiled configs are kept.
        tolerant: for whatever must go on while the operator edits: broken files, and files that
            have vanished, leave the last good config in force, with `warning` saying so. A file
            that was taken away on purpose is accepted by the next strict opening.

    Raises:
        BadHome: a file has a fault, and (when tolerant) there is no last good config.
    """
    for name in (GOOD, BROKEN) if tolerant else (GOOD,):
        kept = _unpack(cache.load(name), root)
        if kept and fingerprint.unchanged(str(root), kept[1]):
            _settle(cache, name, *kept)
            return kept[0]

    from fleet.config.build import build  # 150 ms of pydantic and ruamel, after a change only

    built = build(root)
    last = _unpack(cache.load(GOOD), root) if tolerant else None
    faults = [*(_vanished(root, last[0]) if last else ()), *built.errors]
    faults.sort(key=lambda fault: fault.file != HOME_FILE)  # causes first
    if built.config and not faults:
        cache.save(GOOD, _pack(built.config, built.stamps))
        return built.config
    if last is None:
        raise _bad_home(root, faults)
    config = _with_warning(last[0], faults)
    cache.save(BROKEN, _pack(config, built.stamps))
    return config


def _settle(cache: "Cache", name: str, config: HomeConfig, stamps: tuple[Stamp, ...]) -> None:
    """Once files are no longer young their times tell everything: stop reading their bytes."""
    young = [seen for _, seen, checksum in stamps if checksum is not None and seen]
    if young and all(time.time_ns() - max(seen[1], seen[2]) > YOUNG for seen in young):
        cache.save(name, _pack(config, tuple((file, seen, None) for file, seen, _ in stamps)))


def vanished(root: Path, cache: "Cache") -> list[Finding]:
    """Each file of the last good config that is gone while no strict opening accepts that."""
    last = _unpack(cache.load(GOOD), root)
    return _vanished(root, last[0]) if last else []


def _vanished(root: Path, last: HomeConfig) -> list[Finding]:
    """The files of the last good config that are gone: lost by accident, until confirmed."""
    files = [agent.file for agent in last.agents.values()]
    files += [channel.file for channel in last.channels.values()]
    files += [f"schemas/{name}.json" for name in last.types]
    fix = "put it back, or accept it with fleet check"
    return [
        Finding("error", file, 0, "the file is gone", fix)
        for file in files
        if not os.path.lexists(root / file)
    ]


def _bad_home(root: Path, faults: list[Finding]) -> BadHome:
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return BadHome(f"{root}: {faults[0]}{more}", "fleet check lists every fault", faults)


def _with_warning(last: HomeConfig, faults: list[Finding]) -> HomeConfig:
    more = f" (and {len(faults) - 1} more: fleet check)" if len(faults) > 1 else ""
    return last._replace(warning=f"the last good config is in force: {faults[0]}{more}")


# The bytes: a head that must fit, then marshal's. A Path, a tuple, a dict or a shape becomes a
# tuple that begins with its kind; texts, numbers, None and frozensets of texts stay themselves.


def _head(root: Path) -> bytes:
    """All that must be the same for the bytes to mean the same."""
    folder = os.path.dirname(__file__)  # noqa: PTH120 - the hot path
    code = [fingerprint.facts(f"{folder}/{name}") for name in _CODE]
    return repr((fleet.__version__, sys.version, str(root), code)).encode() + b"\n"


def _pack(config: HomeConfig, stamps: tuple[Stamp, ...]) -> bytes:
    return _head(config.root) + marshal.dumps((_packed(config), stamps))


def _unpack(data: bytes | None, root: Path) -> tuple[HomeConfig, tuple[Stamp, ...]] | None:
    head = _head(root)
    if data is None or not data.startswith(head):
        return None
    packed, stamps = marshal.loads(data[len(head) :])  # noqa: S302 - the cache is this user's own, 0600
    return _unpacked(packed), stamps


def _packed(value: Any) -> Packed:
    if type(value) in _SHAPES:
        return (_SHAPES.index(type(value)), *map(_packed, value))
    if isinstance(value, Path):
        return (_PATH, str(value))
    if isinstance(value, tuple):
        return (_TUPLE, *map(_packed, value))
    if isinstance(value, dict):
        return (_DICT, {key: _packed(inner) for key, inner in value.items()})
    return value


def _unpacked(value: Packed) -> Any:
    if type(value) is not tuple:
        return value
    kind = value[0]
    if kind >= 0:
        return _SHAPES[kind](*map(_unpacked, value[1:]))
    if kind == _TUPLE:
        return tuple(map(_unpacked, value[1:]))
    if kind == _DICT:
        return {key: _unpacked(inner) for key, inner in value[1].items()}
    return Path(value[1])
