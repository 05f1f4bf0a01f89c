"""Usage limits that come as an answer, with exit 0, or as a failure."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from fakeclaude import claude_agent, fake_claude
from fleets import Scripted

ZONE = ZoneInfo("Europe/Warsaw")
WAYS = {
    "answer-rc-0": 'result["result"] = SAID',
    "answer-rc-1": 'result["result"] = SAID; code = 1',
    "error-rc-0": "result.update(is_error=True, result=SAID)",
    "error-rc-1": "result.update(is_error=True, result=SAID, api_error_status=429); code = 1",
    "plain-rc-0": "result = None; print(SAID)",
    "plain-rc-1": "result = None; print(SAID); code = 1",
    "stderr-rc-1": "result = None; print(SAID, file=sys.stderr); code = 1",
    "stream-rc-0": "print(json.dumps(EVENT)); result = None",
    "stream-rc-1": 'print(json.dumps(EVENT)); result.update(is_error=True, result="429"); code = 1',
}
BODY = """
SAID = {said!r}
INFO = {{"status": "rejected", "resetsAt": {at}}}
EVENT = {{"type": "rate_limit_event", "rate_limit_info": INFO}}
code = 0
agent = os.environ["FLEET_AGENT"]
{ways}
if result:
    print(json.dumps(result), flush=True)
sys.exit(code)
"""


@pytest.fixture
def ends() -> datetime:
    """A whole minute about two hours from now."""
    return datetime.fromtimestamp((time.time() + 7200) // 60 * 60, ZONE)


@pytest.fixture
def home(tmp_path: Path, ends: datetime) -> Scripted:
    """A fake CLI that meets its limit in every way, each agent with an account of its own.

    `neighbour` shares the account of the first.
    """
    accounts = {name: {"agents": [name]} for name in WAYS}
    first = next(iter(WAYS))
    accounts[first]["agents"].append("neighbour")
    home = Scripted(tmp_path / "home", extra=f"accounts: {json.dumps(accounts)}\n")
    said = f"You've hit your session limit · resets {ends:%I:%M%p} (Europe/Warsaw)"
    ways = "\n".join(f'if agent == "{name}":\n    {line}' for name, line in WAYS.items())
    fake_claude(home, BODY.format(said=said, at=int(ends.timestamp()), ways=ways))
    for name in (*WAYS, "neighbour"):
        claude_agent(home, name)
    return home


def test_a_limit_is_neither_an_answer_nor_a_failure(home: Scripted, ends: datetime) -> None:
    """G6: as result, plain text, on stderr or in the stream, with exit 0 and 1: `rate_limited`.

    The account waits until the reset, others do not; no lane moves, nobody failed, nothing is
    posted, and each account is told of once.
    """
    event = home.call("emit", "note", "n=1").stdout.strip()

    with ThreadPoolExecutor(3) as pool:
        codes = list(pool.map(lambda name: home.call("run", name).returncode, WAYS))

    assert codes == [8] * len(WAYS)
    runs = {run.agent: run for run in home.runs()}
    fleet = home.fleet
    for name in WAYS:
        assert (runs[name].outcome, runs[name].advance) == ("rate_limited", {}), name
        assert runs[name].limit_until == ends.timestamp(), name
        assert fleet.accounts.of(name).limited_until == ends, name
        assert fleet.runs.attempts(name) == {}, name
        assert event in runs[name].delivered, name
    assert fleet.store.head("channels/strategy") == 0
    told = [record.body["kind"] for record in fleet.store.read("alerts", 0, 100).records]
    assert told == ["limit"] * len(WAYS)

    waits = home.call("run", "neighbour")
    assert waits.returncode == 75
    assert f"{ends.astimezone(ZoneInfo('UTC')):%H:%M}" in home.call("status").stdout
    assert "neighbour" not in {run.agent for run in home.runs()}
