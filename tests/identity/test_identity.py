"""Who a caller is, and what he may do."""

import json
import os
import subprocess
import sys

import pytest

from clocks import FakeClock
from fleet.errors import NotAllowed, Unknown
from fleet.identity import (
    RESERVED_NAMES,
    SYSTEM,
    Author,
    end_token,
    issue_token,
    require_operator,
    resolve,
)
from fleet.stores.ram import RamStore

AGENTS = ("outreach", "reply-handler")


@pytest.fixture
def clock() -> FakeClock:
    """A clock that moves by hand."""
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> RamStore:
    """An empty store on that clock."""
    return RamStore(clock)


def _token(store: RamStore, run: str = "outreach-1", lifetime: float = 1200.0) -> str:
    return issue_token(store, run, "outreach", "growth", lifetime, 2, "events#7")


def _who(store: RamStore, token: str, **env: str) -> Author:
    return resolve(store, {"FLEET_RUN_TOKEN": token, **env}, known_agents=AGENTS)


def test_a_token_says_who_writes(store, clock) -> None:
    """Agent, run, hive, hops, cause and end come from what was stored with the token."""
    author = _who(store, _token(store), FLEET_AGENT="reply-handler", FLEET_RUN_ID="outreach-1")

    assert (author.name, author.run, author.hive) == ("outreach", "outreach-1", "growth")
    assert (author.agent, author.by, author.hops, author.cause) == (True, None, 2, "events#7")
    assert author.until is not None
    assert author.until.uptime == clock.uptime + 1200.0


def test_the_secret_is_256_bits_and_nowhere_in_the_store(store) -> None:
    """The document holds a hash; whoever reads it cannot write as the run."""
    token = _token(store)
    secret = token.removeprefix("outreach-1.")

    body, _ = store.get("tokens/outreach-1")

    assert len(bytes.fromhex(secret)) == 32
    assert secret not in json.dumps(body)
    with pytest.raises(NotAllowed):
        _who(store, f"outreach-1.{body['hash']}")


def test_every_token_is_another_one(store) -> None:
    """Two runs never share a secret, and a run's new token ends its old one."""
    first, second = _token(store), _token(store)

    assert first != second
    assert _who(store, second).name == "outreach"
    with pytest.raises(NotAllowed, match="not the one it was given"):
        _who(store, first)


GARBAGE = [
    "", ".", "outreach-1", "outreach-1.", "outreach-1." + "0" * 63, "." + "0" * 64,
    "../fleet." + "0" * 64, "a/b." + "0" * 64, "x" * 5000 + "." + "0" * 64,
    "outreach-1." + "\udcff" * 64, "outreach-1." + "é" * 64, "OUTREACH-1." + "0" * 64,
]  # fmt: skip


@pytest.mark.parametrize("token", GARBAGE)
def test_garbage_is_no_token_and_no_path(store, token) -> None:
    """Whatever stands in the variable, it is refused; it never makes its caller an operator."""
    _token(store)

    with pytest.raises(NotAllowed) as refused:
        _who(store, token)
    assert refused.value.exit_code == 5
    assert refused.value.fix


def test_a_token_of_another_home_is_refused(store, clock) -> None:
    """A run of one home cannot write into another one."""
    with pytest.raises(NotAllowed, match="not of this home"):
        _who(RamStore(clock), _token(store))


def test_a_token_does_not_serve_another_run(store) -> None:
    """A token taken from a neighbour's environment is refused beside one's own run id."""
    with pytest.raises(NotAllowed, match="not that of run"):
        _who(store, _token(store), FLEET_RUN_ID="reply-handler-1")


def test_a_token_dies_with_its_run(store) -> None:
    """After `end_token` it is refused; ending again, or ending nothing, is no fault."""
    token = _token(store)

    end_token(store, "outreach-1")
    end_token(store, "outreach-1")
    end_token(store, "never-was")

    with pytest.raises(NotAllowed, match="has ended"):
        _who(store, token)


def test_a_token_expires_by_uptime_whatever_the_wall_says(store, clock) -> None:
    """A stepped wall clock neither ends a token nor lets it live on."""
    token = _token(store, lifetime=100.0)

    clock.step_wall(-1e6)
    clock.advance(99.0)
    assert _who(store, token).name == "outreach"
    clock.step_wall(+2e6)
    assert _who(store, token).name == "outreach"
    clock.advance(1.0)
    with pytest.raises(NotAllowed, match="expired"):
        _who(store, token)


def test_after_a_reboot_the_wall_decides(store, clock) -> None:
    """Another boot's uptime says nothing: the wall clock does."""
    token = _token(store, lifetime=100.0)

    clock.reboot()
    clock.advance(50.0)
    until = _who(store, token).until
    assert until is not None
    assert (until.boot, until.uptime) == ("boot-2", 100.0)
    clock.advance(50.0)
    with pytest.raises(NotAllowed, match="expired"):
        _who(store, token)


@pytest.mark.parametrize("name", ["reply-handler", "outreach", "human", "system", "nobody"])
def test_no_flag_widens_what_a_token_grants(store, name) -> None:
    """`--as` in a run is refused, whoever is named, and says who one is."""
    env = {"FLEET_RUN_TOKEN": _token(store)}

    with pytest.raises(NotAllowed, match="you are outreach"):
        resolve(store, env, as_agent=name, known_agents=AGENTS)


def test_a_person_is_the_operator(store) -> None:
    """Without a token the author is the operator, recorded with tty, pid and uid."""
    author = resolve(store, {"FLEET_AGENT": "outreach"}, known_agents=AGENTS, hive="growth")

    assert (author.name, author.run, author.agent, author.hive) == (
        "operator", None, False, "growth",
    )  # fmt: skip
    assert author.by == {"tty": author.by["tty"], "pid": os.getpid(), "uid": os.getuid()}


def test_a_person_may_act_for_an_agent(store) -> None:
    """`--as` names a known agent, the person stays on record; typos and reserved names do not."""
    author = resolve(store, {}, as_agent="outreach", known_agents=AGENTS)

    assert (author.name, author.agent) == ("outreach", False)
    assert author.by["pid"] == os.getpid()
    with pytest.raises(Unknown, match="did you mean 'outreach'"):
        resolve(store, {}, as_agent="outreech", known_agents=AGENTS)
    for name in RESERVED_NAMES:
        with pytest.raises(NotAllowed):
            resolve(store, {}, as_agent=name, known_agents=[*AGENTS, name])


def test_only_a_person_does_what_is_for_operators(store) -> None:
    """A run gets exit 5 for the operators' half; the operator and fleet itself do not."""
    with pytest.raises(NotAllowed, match="pause is for operators, you are outreach") as refused:
        require_operator(_who(store, _token(store)), "pause")
    assert refused.value.exit_code == 5
    require_operator(resolve(store, {}, as_agent="outreach", known_agents=AGENTS), "pause")
    require_operator(SYSTEM, "pause")


def test_a_run_without_its_token_is_nobody(store) -> None:
    """The run id alone, however it is spelled, gives no identity, and no operator's either."""
    env = {"FLEET_RUN_ID": "outreach-1", "FLEET_AGENT": "outreach"}

    with pytest.raises(NotAllowed, match="belongs to run outreach-1"):
        resolve(store, env, known_agents=AGENTS)


WHO = """
from fleet.errors import NotAllowed
from fleet.identity import resolve
from fleet.stores.ram import RamStore
import os
try:
    print(resolve(RamStore(), os.environ, known_agents=()).name)
except NotAllowed as refused:
    print(refused)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="needs /proc")  # noqa: PTH110
def test_a_scrubbed_environment_does_not_make_an_operator() -> None:
    """A child of a run that drops every FLEET_ variable, even twice, is still of the run."""
    outer = "import subprocess, sys; subprocess.run(sys.argv[1:], env={}, check=True)"
    argv = [sys.executable, "-c", outer] * 2 + [sys.executable, "-c", WHO]
    env = {**os.environ, "FLEET_RUN_ID": "outreach-1"}

    in_run = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    outside = subprocess.run(argv, capture_output=True, text=True, check=True)

    assert in_run.stdout.startswith("this process belongs to run outreach-1")
    assert outside.stdout == "operator\n"


def test_resolving_a_token_loads_no_openssl(store) -> None:
    """Every emit of a run resolves its token: hashlib, hmac and secrets stay out of it."""
    script = (
        "import sys\nfrom fleet.identity import resolve, issue_token\n"
        "from fleet.stores.ram import RamStore\nstore = RamStore()\n"
        "token = issue_token(store, 'r', 'a', '', 9.0, 0)\n"
        "assert resolve(store, {'FLEET_RUN_TOKEN': token}, known_agents=()).name == 'a'\n"
        "heavy = ('hashlib', '_hashlib', 'hmac', 'secrets')\n"
        "print([name for name in heavy if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
