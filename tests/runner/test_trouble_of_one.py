"""What the disk or the store refuses for one agent holds no other."""

from collections.abc import Callable

import pytest

from fleet.errors import Unavailable
from fleet.runner import settle
from fleet.runner.keepers import Keepers
from fleet.runner.live import Live
from fleet.runs import Run
from fleet.wiring import Fleet
from fleets import Scripted, Up, running, until

DONE = "cat > /dev/null; echo done"


def spoil(home: Scripted, pattern: str) -> None:
    """Damage a document of the agent's and the copy before it."""
    folder, _, name = pattern.rpartition("/")
    (home.root / "state" / folder).mkdir(exist_ok=True)
    for end in ("", ".prev"):
        (home.root / "state" / folder / f"{name}{end}").write_text("{broken")


def no_folder(home: Scripted) -> None:
    """The agent's file names a working folder that cannot be."""
    home.put("taken", "a file")
    home.agent("bad", DONE, "cwd: taken/below", schedule="{every: 1s}")


TROUBLES: dict[str, Callable[[Scripted], None]] = {
    "schedule": lambda home: spoil(home, "schedule/bad.json"),
    "control": lambda home: spoil(home, "control/bad.json"),
    "cursors": lambda home: spoil(home, "cursors/bad.json"),
    "folder": no_folder,
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_others_go_on_and_it_is_named(scripted: Scripted, trouble: str) -> None:
    """Damaged documents, a folder that cannot be made: the runner says whose, and runs the rest."""
    for name in ("bad", "good"):
        scripted.agent(name, DONE, schedule="{every: 1s}")
    first = Up(scripted)
    assert until(lambda: {run.agent for run in scripted.ended()} == {"bad", "good"}), first.said()
    assert first.stop() == 0
    TROUBLES[trouble](scripted)
    before = len(scripted.ended("good"))

    with running(scripted) as up:
        assert until(lambda: len(scripted.ended("good")) > before + 1), up.said()
        assert until(lambda: "bad" in up.said()), up.said()
        assert up.stop() == 0, up.said()


def test_an_end_that_is_refused_holds_no_other_back(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are settled in the same look, it is told, and the next look settles it."""
    for name in ("bad", "good"):
        scripted.agent(name, DONE)
        assert scripted.call("run", name).returncode == 0
    keepers, settled, took = Keepers(), settle.settle, list[str]()
    live = {run.agent: Live(run.id, run.agent) for run in scripted.ended()}
    keepers._live = dict(sorted(live.items()))  # the bad one comes first

    def refused(fleet: Fleet, agent: str, run: str) -> Run:
        if agent == "bad":
            raise Unavailable("the disk is full")
        return settled(fleet, agent, run)

    monkeypatch.setattr(settle, "settle", refused)
    with pytest.raises(Unavailable):
        keepers.reap(scripted.fleet, lambda run: took.append(run.agent))
    assert (took, list(keepers.running())) == (["good"], ["bad"])

    monkeypatch.setattr(settle, "settle", settled)
    keepers.reap(scripted.fleet, lambda run: took.append(run.agent))
    assert (took, list(keepers.running())) == (["good", "bad"], [])
