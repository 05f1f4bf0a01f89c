"""`python -m fleet.ops.probe FILE`: the other process when the doctor asks whether locks exclude.

Exit 0: it got the lock; 75: somebody else holds it.
"""

import sys
from pathlib import Path

from fleet.errors import LockTimeout
from fleet.wiring.locking import file_lock

PATIENCE = 0.2  # seconds


def main(path: str) -> int:
    """Try to take the lock, and say whether it worked by the exit code."""
    try:
        with file_lock(Path(path), PATIENCE):
            return 0
    except LockTimeout as fault:
        return fault.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
