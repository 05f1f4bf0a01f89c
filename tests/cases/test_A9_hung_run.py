"""Runs that never end by themselves."""

from fleets import Scripted, running, until

HANGS = {
    "sleeps": "exec sleep 60",
    "ignores": "trap '' INT TERM HUP; while :; do sleep 0.1; done",
    "forks": "sh -c 'trap \"\" INT TERM; sleep 60' & wait",
    "talks": "while :; do echo still here; sleep 0.1; done",
}


def test_a_run_that_hangs_costs_itself_alone(scripted: Scripted) -> None:
    """A9: whatever way a run hangs its timeout ends it, the next one starts, others never wait."""
    for name, script in HANGS.items():
        scripted.agent(name, script, "timeout: 1s", "grace: 1s", schedule="{every: 1s}")
    fleet_yaml = scripted.root / "fleet.yaml"
    fleet_yaml.write_text(fleet_yaml.read_text().replace("concurrency: 4", "concurrency: 5"))
    scripted.agent("works", "cat > /dev/null; echo done", schedule="{every: 1s}")

    with running(scripted) as up:
        assert until(lambda: all(len(scripted.ended(name)) >= 2 for name in HANGS), 30), up.said()
        up.stop()

    for name in HANGS:
        assert {run.outcome for run in scripted.ended(name)} <= {"timeout", "killed"}
        assert [run.outcome for run in scripted.ended(name)][1] == "timeout"
    assert all(scripted.alive(run.id) == set() for run in scripted.runs())
    works = [fire.body["result"] for fire in scripted.fires() if fire.body["agent"] == "works"]
    assert works.count("started") >= 2
    assert set(works) <= {"started", "coalesced", "skipped_overlap", "stopping"}
