"""`python -m fleet` and the `fleet` script: the same program."""

import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    """Run one command and leave with its exit code."""
    gc.set_threshold(50_000)  # a command makes little garbage: collecting during imports costs 3 ms
    from fleet.cli.app import run

    code = run(sys.argv[1:])
    if sys.stdout:
        with suppress(OSError):  # `run` has said so already
            sys.stdout.flush()
    os._exit(code)  # all is written and synced: taking the interpreter apart would cost 6 ms


if __name__ == "__main__":
    main()
