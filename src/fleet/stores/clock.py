"""The host's clock as a store hands it out; it is not where anything waits or sleeps."""

import os
import time
from functools import cache

from fleet.records import Instant

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@cache
def boot_id() -> str:
    """The id of this boot; without one, a name of its own per process.

    A name that nobody else has makes every expiry fall back to the wall clock, which is right
    for a system that cannot say whether it was rebooted.
    """
    try:
        with open(_BOOT_ID, encoding="ascii") as file:  # noqa: PTH123 - pathlib costs the hot path
            return file.read().strip()
    except OSError:
        return f"unknown-{os.getpid()}-{time.time_ns()}"


def system_clock() -> Instant:
    """Wall clock, boot id and seconds since boot, suspended time included where it is known."""
    return Instant(time.time(), boot_id(), time.clock_gettime(_SINCE_BOOT))
