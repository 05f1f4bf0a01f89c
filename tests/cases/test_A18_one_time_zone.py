"""The zone of the host, and the one that the home names."""

import os
import re
import subprocess
import sys

from fleets import Scripted

TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?P<zone>Z|[+-]\d\d:\d\d)?")
ZONES = ("UTC", "Asia/Tokyo")


def test_the_host_zone_changes_nothing_and_no_time_is_stored_without_one(
    scripted: Scripted,
) -> None:
    """A18: with TZ=Asia/Tokyo and TZ=UTC slots are the same instants, as `fleet next` prints them.

    All that a run there stores has an offset; `status` says in which zone it prints.
    """
    fleet_yaml = scripted.root / "fleet.yaml"
    fleet_yaml.write_text(fleet_yaml.read_text().replace("UTC", "Europe/Berlin"))
    scripted.agent("daily", "cat > /dev/null; echo ok", schedule='["0 8 * * *", "@hourly"]')

    said = {zone: call(scripted, zone, "next", "--from", "2027-03-27", "--days", "3", "--json")
            for zone in ZONES}  # fmt: skip
    call(scripted, "Asia/Tokyo", "run", "daily")
    call(scripted, "Asia/Tokyo", "pause", "daily", "--reason", "new list")
    status = call(scripted, "Asia/Tokyo", "status")

    assert said["UTC"] == said["Asia/Tokyo"] != ""
    assert "times in Europe/Berlin" in status
    assert len(scripted.ended()) == 1
    state = scripted.root / "state"
    kept = [path for kind in ("*.jsonl", "*.json") for path in state.rglob(kind)]
    times = [found for path in kept for found in TIME.finditer(path.read_text(errors="replace"))]
    assert len(times) > 20
    assert {found[0] for found in times if not found["zone"]} == set()


def call(home: Scripted, zone: str, *argv: str) -> str:
    """What a command prints on a host of that zone."""
    words = [sys.executable, "-m", "fleet", "--home", str(home.root), *argv]
    env = os.environ | {"TZ": zone}
    return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout
