"""`state/export/fleet.prom`: what collectors read, whole at any moment, and true when it stops."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet.alerts import raise_alert
from fleet.identity import SYSTEM
from fleet.records import new_id, rfc3339
from fleet.runner.exporter import Exporter
from fleet.runner.pace import Pace
from fleet.runs.outcome import Verdict
from fleet.runs.tally import Tally
from fleet.status.openmetrics import Facts, Passes, down, text
from fleets import Scripted, running, until

client = pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser")
prometheus = pytest.importorskip("prometheus_client.parser")

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def families(said: str) -> dict[str, client.Metric]:
    """The families of a text, by name, as two parsers that are not ours read it."""
    found = {one.name: one for one in openmetrics.text_string_to_metric_families(said)}
    values = {(s.name, *sorted(s.labels.items())): s.value for s in samples(found.values())}
    older = samples(list(prometheus.text_string_to_metric_families(said)))
    assert {(s.name, *sorted(s.labels.items())): s.value for s in older} == values
    return found


def samples(metrics: object) -> list:
    """All samples of families."""
    return [sample for metric in metrics for sample in metric.samples]


def value(said: str, name: str, **labels: str) -> float:
    """One value of the text."""
    found = [s for s in samples(families(said).values()) if s.name == name]
    (sample,) = [s for s in found if s.labels == labels]
    return sample.value


@pytest.fixture
def home(tmp_path: Path) -> Scripted:
    """Two agents, runs that ended otherwise, an alert."""
    home = Scripted(tmp_path / "home")
    for agent in ("alice", "bob"):
        home.agent(agent, "true", schedule="{every: 1h}")
    fleet = home.fleet
    for outcome, cost in (("ok", 0.5), ("ok", 0.25), ("crashed", None)):
        run, wall = new_id(fleet.store.now().wall), fleet.store.now().wall
        fleet.runs.start(SYSTEM, "alice", run, slot=rfc3339(wall))
        ended = Verdict(outcome, cost_usd=cost, tokens_in=1000, tokens_out=10)
        fleet.runs.finish("alice", run, ended, ended=rfc3339(wall - 60))
    raise_alert(fleet.store, kind="loop", subject="a", what="w", done="d", fix="f")
    return home


def test_everything_that_a_collector_asks_for_is_there(home: Scripted) -> None:
    """Runs by outcome, cost, tokens, places, lag, alerts, times and passes: valid, with values."""
    exporter = Exporter(Pace(passes=7, seconds=0.5))
    exporter.look(home.fleet, NOW)
    path = home.root / "state" / "export" / "fleet.prom"
    assert until(path.exists)
    said = path.read_text()
    now = home.fleet.store.now().wall

    assert value(said, "fleet_up") == 1
    assert value(said, "fleet_runs_total", agent="alice", outcome="ok") == 2
    assert value(said, "fleet_runs_total", agent="alice", outcome="crashed") == 1
    assert value(said, "fleet_tokens_total", agent="alice", direction="in") == 3000
    assert value(said, "fleet_cost_today_dollars", agent="alice") >= 0.75
    assert value(said, "fleet_agent_failing", agent="alice") == 1
    assert value(said, "fleet_lag_events", agent="bob") == 0
    assert 60 <= value(said, "fleet_last_success_age_seconds", agent="alice") < 600
    assert now < value(said, "fleet_next_due_timestamp_seconds", agent="bob") < now + 7200
    assert value(said, "fleet_running_runs") == 0
    assert value(said, "fleet_free_places") == 4
    assert value(said, "fleet_open_alerts", kind="loop") == 1
    assert value(said, "fleet_passes_total") == 7
    assert value(said, "fleet_pass_duration_seconds_sum") == 0.5
    assert abs(value(said, "fleet_written_timestamp_seconds") - now) < 60
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_any_label_is_escaped() -> None:
    """A quote, a backslash or a line break in a name stays inside of its label."""
    odd = 'a"\\\n# EOF\n'
    state = {
        "agents": [], "running": [], "alerts": [{"kind": odd}], "anomalies": [], "damaged": {},
        "health": "ok", "accounts": [{"name": odd, "state": "limited"}],
    }  # fmt: skip
    tally = Tally({odd: 3}, 0.0, 0, 0, "", ())

    said = text(state, Facts({odd: tally}, 1, Passes(0, 0.0), 1.0))

    assert value(said, "fleet_runs_total", agent=odd, outcome=odd) == 3
    assert value(said, "fleet_open_alerts", kind=odd) == 1
    assert value(said, "fleet_account_held", account=odd, state="limited") == 1


def test_without_a_runner_it_says_down(home: Scripted) -> None:
    """A runner that was stopped leaves a file that says so, and it was whole at every moment."""
    path = home.root / "state" / "export" / "fleet.prom"
    with running(home) as up:
        assert until(path.exists)
        alive = path.read_text()
        assert up.stop() == 0

    assert value(alive, "fleet_up") == 1
    assert value(path.read_text(), "fleet_up") == 0
    assert families(down(1.0)).keys() == {"fleet_up", "fleet_written_timestamp_seconds"}
    assert [one.name for one in path.parent.iterdir()] == ["fleet.prom"]


def test_no_link_leads_out_of_the_state(home: Scripted, tmp_path: Path) -> None:
    """P26: where the folder or the file is a link, nothing is written through it."""
    other, state = tmp_path / "other", home.root / "state"
    other.mkdir()
    (other / "file").write_text("mine")
    (state / "export").symlink_to(other)
    Exporter(Pace()).close(home.fleet)
    assert [one.name for one in other.iterdir()] == ["file"]
    (state / "export").unlink()
    (state / "export").mkdir()
    (state / "export" / "fleet.prom.tmp").symlink_to(other / "file")
    (state / "export" / "fleet.prom").symlink_to(other / "file")

    Exporter(Pace()).close(home.fleet)

    assert (other / "file").read_text() == "mine"
    assert value((state / "export" / "fleet.prom").read_text(), "fleet_up") == 0
