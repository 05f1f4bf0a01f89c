"""Agents that certify themselves, and later agents that take their word for it."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fleet.context import build
from fleets import Scripted

DONE = "Everything is done, the whole list was mailed."


@dataclass(frozen=True)
class Case:
    """What an agent is there to leave, what it does, and whether that is what it should leave."""

    expects: str
    does: str
    ok: bool = False
    files: dict[str, str] = field(default_factory=dict)


EVENT, POST, FILE = "{event: note}", "{post: strategy}", '{file: "drafts/*.md"}'
WRITES = "mkdir -p drafts; echo x > drafts/a.md"
CASES = {
    "no-event": Case(f"any_of: [{EVENT}]", "true"),
    "event-to-come": Case(f"any_of: [{EVENT}]", "fleet emit note n=1 --in 3d"),
    "refused-event": Case(f"any_of: [{EVENT}]", "fleet emit note wrong=1"),
    "no-post": Case(f"any_of: [{POST}]", "fleet send operator done"),
    "old-file": Case(f"any_of: [{FILE}]", "true", files={"drafts/a.md": "of last week"}),
    "half": Case(f"all_of: [{EVENT}, {FILE}]", "fleet emit note n=1"),
    "asked": Case(f"any_of: [{EVENT}]", "fleet ask 'may I mail them?'"),
    "whole": Case(f"all_of: [{EVENT}, {FILE}]", f"fleet emit note n=1; {WRITES}", ok=True),
    "idle": Case(f"any_of: [{EVENT}]", "fleet report --idle 'no new leads'; exit 0", ok=True),
}


@pytest.fixture
def played(tmp_path: Path) -> Scripted:
    """Each case has an agent, and each of these one that comes later and sees what it reports."""
    home = Scripted(tmp_path / "home", concurrency=4)
    home.put("schemas/other.json", '{"type": "object", "description": "Another fact"}')
    for name, case in CASES.items():
        said = f"fleet report '{DONE}'"
        does = f"cat > /dev/null; {said}; {case.does}; echo '{DONE}'"
        home.agent(name, f"({does}); exit 0", f"expects: {{{case.expects}}}", "interests: []")
        for file, text in case.files.items():
            home.put(f"work/{name}/{file}", text)
    for name in CASES:
        home.agent(f"after-{name}", "cat", f"collaborators: [{name}]", "interests: []")
    return home


def test_done_is_what_a_run_leaves_and_not_what_it_says(played: Scripted) -> None:
    """F27: exit 0, a report and a result that say "done" are `incomplete` without the artefact.

    Missing, of another kind, half of it, of an earlier time, refused, or only promised: the run
    fails, its task stays, `fleet run` is exit 8, and who comes later is told that it is not proven.
    """
    for name in CASES:
        assert played.call("emit", "other", "--to", name, "n=1").returncode == 0
    names = list(CASES)
    for batch in (names[:3], names[3:6], names[6:]):
        done = played.together(*(["run", name] for name in batch))
        codes = {name: one.returncode for name, one in zip(batch, done, strict=True)}
        assert codes == {name: 0 if CASES[name].ok else 8 for name in batch}

    fleet = played.fleet
    for name, case in CASES.items():
        (run,) = played.runs(name)
        assert run.outcome == ("ok" if case.ok else "incomplete"), name
        assert bool(run.advance) == case.ok
        assert (fleet.bus.lag(name, run.advance) == 0) == case.ok
        told = build(fleet.sources(), fleet.config.agents[f"after-{name}"], run="r").context_md
        line = next(line for line in told.splitlines() if line.startswith(f"  [{name}] "))
        assert line.startswith(f"  [{name}] {run.outcome} | "), line
        assert ("| unproven: Everything is done" in line) != case.ok, line
