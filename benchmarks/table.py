"""The one table: a row for each measurement, printed as soon as it is known; it judges no code."""

from collections.abc import Callable
from typing import NamedTuple

_WIDTHS = (46, 18, 34, 6, 7)
_HEADINGS = ("what", "fleet", "peer, in the same call", "ratio", "gate")


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        what: what was measured.
        ours: fleet's value with its unit.
        peer: the other's name and value; why it is missing when it is.
        ratio: ours to the peer's, None without one.
        gate: the limit as `<= 6` or `>= .75`; "" when the row is only shown.
        number: what the gate holds for, None for `ratio`.
    """

    what: str
    ours: str
    peer: str = ""
    ratio: float | None = None
    gate: str = ""
    number: float | None = None

    @property
    def verdict(self) -> str:
        """`met`, `MISSED`, or "" without a gate."""
        measured = self.ratio if self.number is None else self.number
        if not self.gate or measured is None:
            return ""
        sign, limit = self.gate.split()
        met = measured <= float(limit) if sign == "<=" else measured >= float(limit)
        return "met" if met else "MISSED"


def print_head(say: Callable[[str], None]) -> None:
    """The headings."""
    say(_line(_HEADINGS))
    say(_line(["-" * width for width in _WIDTHS]))


def print_row(say: Callable[[str], None], row: Row) -> None:
    """One row."""
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    say(f"{_line((row.what, row.ours, row.peer, ratio, row.gate))}  {row.verdict}".rstrip())


def _line(cells: "tuple[str, ...] | list[str]") -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
