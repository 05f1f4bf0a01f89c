"""`python -m fleet` and the `fleet` script: the same program."""

import sys

from fleet.cli.app import run


def main() -> None:
    """Run one command and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
