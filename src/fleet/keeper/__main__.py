"""The way in, `python -I -m fleet.keeper RUNFOLDER`: exits 0 when `exit.json` is written."""

import os
import sys
from pathlib import Path

from fleet.keeper import files
from fleet.keeper.run import Keeper


def main(argv: list[str]) -> int:
    """Keep the run in the folder that `argv` names; everything worth knowing goes to exit.json."""
    if len(argv) != 1:
        return _complain("usage: python -I -m fleet.keeper RUNFOLDER")
    folder = Path(argv[0]).absolute()
    try:
        order = files.read_order(folder)
    except (OSError, ValueError) as error:
        return _refuse(folder, str(error))
    try:
        Keeper(folder, order).keep()
    except OSError as error:
        return _complain(f"cannot write {folder / 'exit.json'}: {error.strerror}")
    return 0


def _refuse(folder: Path, why: str) -> int:
    """There is no order to keep: say so in the run's own `exit.json`, if it has a folder."""
    now = files.stamp()
    said = {"run": folder.name, "pid": os.getpid(), "started": now, "ended": now}
    said |= {"returncode": None, "signal": None, "ended_by": "launch", "reason": why}
    said |= {"result_seen": False, "stdout_bytes": 0, "stderr_bytes": 0}
    said |= {"truncated": False, "swept": 0}
    try:
        files.write_exit(folder, said)
    except OSError:
        return _complain(why)
    return 0


def _complain(what: str) -> int:
    """One line on stderr, if there is one still (a terminal may have been closed)."""
    try:
        sys.stderr.write(f"fleet keeper: {what}\n")
    except OSError:
        return 1
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
