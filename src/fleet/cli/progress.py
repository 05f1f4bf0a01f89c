"""A bar for work that takes long, on a terminal only."""

import sys
from collections.abc import Callable

WIDTH = 30  # characters of the bar
FEW = 50_000  # things that are done before anybody would read a bar


def bar(what: str) -> Callable[[int, int], None]:
    """Takes how much is done of how much, and draws it over one line of standard error."""

    def draw(done: int, total: int) -> None:
        if total < FEW or not sys.stderr.isatty():
            return
        full = WIDTH * min(done, total) // total
        end = "\r\x1b[K" if done >= total else ""
        sys.stderr.write(f"\rfleet: {what} [{'#' * full:{WIDTH}}] {done:,} of {total:,}{end}")
        sys.stderr.flush()

    return draw
