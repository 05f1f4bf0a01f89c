"""Brings the look at the operator's templates together with the language they are written in."""

from pathlib import Path

from fleet.config.prompts import Prompts
from fleet.ports import Cache


def prompts_of(root: Path, cache: Cache) -> Prompts:
    """The templates of the home at `root`."""
    return Prompts(root, cache, _fault_of)


def _fault_of(name: str, data: bytes) -> str:
    from fleet.context.templates import fault_of  # jinja2, after a change only

    return fault_of(name, data)
