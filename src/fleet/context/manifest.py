"""What a run's record keeps of what its context was made from; values only, nothing is read.

With it, the logs and the blobs that it names the same bytes can be built again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fleet.context.given import Given, given_of
from fleet.records import Body, Place

_KEPT = ("fleet", "root", "config", "config_blob", "templates", "heads", "crcs", "given")


class Made(NamedTuple):
    """What one context was made from.

    Attributes:
        fleet: the version of the program.
        root: the home's folder then.
        config: the version of the config (a hash of the operator's files).
        config_blob: the hash under which it is kept, None when it was too large.
        templates: by name the hash under which a template's text is kept.
        pins: the newest record of each log that was read.
        given: what no log tells.
        files: by name the hash of each file that was written for the run.
    """

    fleet: str
    root: Path
    config: str
    config_blob: str | None
    templates: Mapping[str, str]
    pins: Mapping[str, Place]
    given: Given
    files: Mapping[str, str]


def made_body(manifest: Body, files: Mapping[str, str]) -> Body:
    """What the record of a run takes of its `manifest` and of the hashes of its `files`."""
    return {name: manifest.get(name) for name in _KEPT} | {"files": dict(files)}


def made_of(body: Body) -> Made | None:
    """The reverse of `made_body`; None when another version of fleet wrote something else."""
    try:
        blob = body["config_blob"]
        return Made(
            fleet=str(body["fleet"]),
            root=Path(str(body["root"])),
            config=str(body["config"]),
            config_blob=None if blob is None else str(blob),
            templates=_texts(body["templates"]),
            pins=_places(_texts(body["heads"]), _texts(body["crcs"])),
            given=given_of(_body(body["given"])),
            files=_texts(body["files"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _places(heads: Mapping[str, str], crcs: Mapping[str, str]) -> dict[str, Place]:
    return {stream: Place(int(seq), crcs[stream]) for stream, seq in heads.items()}


def _body(value: object) -> Body:
    if not isinstance(value, dict):
        raise TypeError("no object")
    return value


def _texts(value: object) -> dict[str, str]:
    return {str(name): str(one) for name, one in _body(value).items()}
