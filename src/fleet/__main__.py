"""`python -m fleet` and the `fleet` script: the same program."""

import gc
import sys


def main() -> None:
    """Run one command and leave with its exit code."""
    gc.set_threshold(50_000)  # a command makes little garbage: collecting during imports costs 3 ms
    from fleet.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
