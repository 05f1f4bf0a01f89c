"""The command that a claim is held for: which process waits for it, and whether it still does.

Two commands of one holder are two: what makes a claim one's own here is the process.
"""

import os

from fleet import processes
from fleet.records import Body


def this_process() -> Body:
    """What a claim's document says of a command that this process runs: `{pid, start, boot}`."""
    pid = os.getpid()
    return {"pid": pid, "start": processes.start_time(pid), "boot": processes.boot_id()}


def is_waited_for(command: object) -> bool:
    """Whether the process that holds a claim for `command`, as a document says it, is alive."""
    if not isinstance(command, dict):
        return False
    pid, start = command.get("pid"), command.get("start")
    return (
        isinstance(pid, int)
        and isinstance(start, int)
        and processes.is_alive(pid, start, str(command.get("boot")))
    )
