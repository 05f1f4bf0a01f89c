"""Runs that last longer than their interval."""

from fleets import Scripted, running, until

WORK = (
    "cat > /dev/null; mkdir lock || touch two-at-once; touch started;"
    " while [ ! -e go ]; do sleep 0.05; done; rmdir lock; echo done"
)


def test_an_agent_is_never_alive_twice(scripted: Scripted) -> None:
    """G8: while a run goes on its agent's slots are `skipped_overlap` and a run by hand exits 6.

    Both are told which run it is; when it has ended the next slot starts.
    """
    scripted.agent("worker", WORK, schedule="{every: 1s}")
    cwd = scripted.root / "work" / "worker"

    with running(scripted) as up:
        assert until((cwd / "started").exists), up.said()
        by_hand = [scripted.call("run", "worker") for _ in range(2)]
        assert until(lambda: _results(scripted).count("skipped_overlap") >= 3), up.said()
        (run,) = scripted.runs()
        (cwd / "go").touch()
        assert until(lambda: len(scripted.ended()) >= 2), up.said()
        up.stop()

    assert [done.returncode for done in by_hand] == [6, 6]
    assert all(run.id in done.stderr for done in by_hand)
    overlaps = [f.body for f in scripted.fires() if f.body["result"] == "skipped_overlap"]
    assert all(run.id in str(fire["detail"]) for fire in overlaps)
    assert not (cwd / "two-at-once").exists()
    assert set(_results(scripted)) <= {"started", "skipped_overlap", "coalesced", "stopping"}


def test_a_run_by_hand_keeps_the_runner_out(scripted: Scripted) -> None:
    """G8: while a person's run goes on the runner's slots are `skipped_overlap` too."""
    scripted.agent("worker", WORK, schedule="{every: 1s}")
    cwd = scripted.root / "work" / "worker"
    hand = scripted.start("run", "worker")
    assert until((cwd / "started").exists)

    with running(scripted) as up:
        assert until(lambda: "skipped_overlap" in _results(scripted)), up.said()
        assert len(scripted.runs()) == 1
        (cwd / "go").touch()
        assert hand.wait(20) == 0
        assert until(lambda: len(scripted.ended()) >= 2), up.said()
        up.stop()

    assert not (cwd / "two-at-once").exists()


def _results(home: Scripted) -> list[str]:
    return [str(fire.body["result"]) for fire in home.fires()]
