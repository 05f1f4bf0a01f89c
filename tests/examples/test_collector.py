"""The collector that ships as an example: copied into a home and run as its README says."""

import json
import shutil
from pathlib import Path

import pytest

from calls import call, many
from conftest import Fleet, Write

EXAMPLE = Path(__file__).parents[2] / "examples" / "collector"
SCHEMA = '{"type": "object", "required": ["draftId"], "x-subject": "{draftId}"}'
NUMBERS = (
    "subject,name,value,measured\n"
    "cursor-comparison,views,1200,2026-11-29T08:00:00+01:00\n"
    "cursor-comparison,views,1300,2026-11-30T08:00:00+01:00\n"
    "--help,views,7,2026-11-30T08:00:00+01:00\n"
    "of-nobody,views,1,2026-11-30T08:00:00+01:00\n"
)


@pytest.fixture
def shop(home: Path, write: Write) -> Path:
    """A home with the example copied in, in which three drafts were announced."""
    for folder in ("agents", "prompts", "bin"):
        shutil.copytree(EXAMPLE / folder, home / folder, dirs_exist_ok=True)
    write("schemas/content-ready.json", SCHEMA)
    write("work/collector/numbers.csv", NUMBERS)
    drafts = ("cursor-comparison", "--help", "still-waiting")
    done = many(home, [call("emit", "content-ready", f"draftId={name}") for name in drafts])
    assert {one.code for one in done} == {0}, done
    return home


def recorded(fleet: Fleet) -> list[tuple[str, float]]:
    """Subjects with their numbers, as the log has them."""
    rows = [json.loads(line) for line in fleet("metric", "show", "--json").stdout.splitlines()]
    assert {row["from_agent"] for row in rows} <= {"collector"}
    return [(row["subject"], row["value"]) for row in rows]


def test_it_records_what_is_new_and_nothing_twice(shop: Path, fleet: Fleet) -> None:
    """Two real runs: the first records what was announced, the second is idle; both say so."""
    first = fleet("run", "collector")
    assert first.returncode == 0, first.stdout + first.stderr
    assert recorded(fleet) == [("cursor-comparison", 1300), ("--help", 7)]
    numbers = (shop / "state" / "metrics" / f"{1:020}.jsonl").read_text()

    assert fleet("run", "collector").returncode == 0

    assert (shop / "state" / "metrics" / f"{1:020}.jsonl").read_text() == numbers
    runs = [json.loads(line) for line in fleet("runs", "collector", "--json").stdout.splitlines()]
    assert [run["idle"] for run in runs] == [True, False]
    assert runs[1]["report"].startswith("recorded 3 numbers, 0 refused; without numbers before: ")
    assert runs[0]["report"] == (
        "recorded 0 numbers, 0 refused; without numbers before: still-waiting"
    )


def test_a_number_that_is_refused_fails_the_run_and_is_named(
    shop: Path, write: Write, fleet: Fleet
) -> None:
    """`n/a` is no number: the run says which line, and the other lines are recorded."""
    rows = [
        {"subject": "cursor-comparison", "name": "views", "value": "n/a"},
        {"subject": "still-waiting", "name": "views", "value": 12},
    ]
    write("work/collector/numbers.json", json.dumps(rows))
    agent = shop / "agents" / "collector.yaml"
    agent.write_text(agent.read_text().replace("numbers.csv", "numbers.json"))

    done = fleet("run", "collector")

    assert done.returncode == 8
    assert recorded(fleet) == [("still-waiting", 12)]
    assert "cursor-comparison views: fleet: 'n/a' is no finite number" in (
        fleet("logs", "collector").stdout
    )


def test_the_example_is_a_home_without_fault(shop: Path, fleet: Fleet) -> None:
    """`fleet check` finds nothing wrong with the copied agent, and reads its example numbers."""
    done = fleet("check")

    assert "collector" not in done.stdout + done.stderr
    header = (EXAMPLE / "work" / "collector" / "numbers.csv").read_text().splitlines()[0]
    assert header == "subject,name,value,measured"
