"""A collector: records the numbers that your analytics export, for what your agents announced.

`collect.py FILE...` reads CSV files (columns `subject,name,value` and, if you have it, `measured`)
or JSON files (a list of such objects). It calls the `fleet` on PATH and needs nothing else but
Python. Running it again records nothing twice; numbers of what no event announced wait.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

COLUMNS = {"subject", "name", "value"}
SINCE = "60d"  # what was announced earlier is not measured any more
MOST = "100000"  # events and numbers that are looked at


def fleet(*words: str) -> subprocess.CompletedProcess[str]:
    """One command; its texts go in as arguments, never through a shell."""
    return subprocess.run(["fleet", *words], capture_output=True, text=True, check=False)


def listed(*words: str) -> list[dict]:
    """What a reading command prints as JSON."""
    done = fleet(*words, "--json", "--limit", MOST)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def exported(path: Path) -> Iterator[dict]:
    """The numbers in a file; one without a time was measured when the file was written."""
    text = path.read_text(encoding="utf-8-sig")
    rows = json.loads(text) if path.suffix == ".json" else csv.DictReader(text.splitlines())
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    for row in rows:
        if not row.keys() >= COLUMNS:
            sys.exit(f"{path}: every number needs {', '.join(sorted(COLUMNS))}")
        yield {**row, "measured": row.get("measured") or written}


def is_new(row: dict, newest: dict[tuple[str, str], datetime]) -> bool:
    """Whether it was measured after the newest number that fleet has."""
    known = newest.get((row["subject"], row["name"]))
    try:
        measured = datetime.fromisoformat(row["measured"])
    except ValueError:
        return True  # fleet says what is wrong with it
    return known is None or measured.tzinfo is None or measured > known


def record(row: dict) -> str:
    """Why the number was refused, "" when it was recorded."""
    about, name, value = (str(row[key]) for key in ("subject", "name", "value"))
    key = f"{about}/{name}/{row['measured']}"[-180:]  # the same number twice is one record
    done = fleet("metric", "record", "--at", row["measured"], "--id", key, "--", about, name, value)
    return done.stderr.strip() if done.returncode else ""


def main(files: list[str]) -> int:
    """Record what is new, and report it; 1 when a number was refused."""
    announced = {event["subject"] for event in listed("events", "--since", SINCE)} - {None}
    newest = {
        (row["subject"], row["name"]): datetime.fromisoformat(row["measured"])
        for row in listed("metric", "show")
    }
    recorded, refused = 0, []
    for row in (row for file in files for row in exported(Path(file))):
        if row["subject"] not in announced or not is_new(row, newest):
            continue
        fault = record(row)
        recorded += not fault
        refused += [f"{row['subject']} {row['name']}: {fault}"] if fault else []
    without = sorted(announced - {about for about, _ in newest})
    waiting = f"; without numbers before: {', '.join(without[:10])}" if without else ""
    said = f"recorded {recorded} numbers, {len(refused)} refused{waiting}"
    print(said, *refused, sep="\n")
    fleet("report", *([] if recorded or refused else ["--idle"]), said)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
