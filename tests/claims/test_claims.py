"""Who holds a key, for how long, and who is told what."""

import pytest

from clocks import FakeClock
from fleet.claims import Claims
from fleet.errors import Held, NotAllowed, Rejected, Stale, Unknown, Usage
from fleet.identity import SYSTEM, Author
from fleet.records import Draft, HeldBy, NotHeldByOther, claim_document, wall_of
from fleet.stores.files import FilesStore
from fleet.stores.ram import RamStore

LEAD = "lead:sarah@acme.com"
OPERATOR = Author("operator", None, "", agent=False, by={"tty": "", "pid": 1, "uid": 0})


def in_run(name: str, clock: FakeClock, lasts: float = 1200.0, run: str = "") -> Author:
    """An agent in a run that ends in `lasts` seconds."""
    now = clock()
    clock.advance(lasts)
    until = clock()
    clock.advance(-lasts)
    assert clock() == now
    return Author(name, run or f"{name}-1", "", agent=True, until=until)


# Holding ----------------------------------------------------------------------------------------


def test_a_key_has_one_holder(claims, clock) -> None:
    """The second one is told who holds it, until when and why, and gets exit 6."""
    mine = claims.take(in_run("reply-handler", clock), LEAD, note="answering")

    assert (mine.holder, mine.run, mine.token) == ("reply-handler", "reply-handler-1", 1)
    with pytest.raises(Held) as refused:
        claims.take(in_run("outreach", clock), LEAD)
    fix = "leave it, do something else"
    assert str(refused.value) == f"{LEAD} is held by reply-handler (answering): {fix}"
    assert (refused.value.exit_code, refused.value.key) == (6, LEAD)
    assert (refused.value.holder, refused.value.until) == ("reply-handler", mine.expires)
    assert claims.get(LEAD) == mine


def test_taking_again_is_the_same_claim(claims, clock) -> None:
    """One's own claim keeps its token and note; asking again never shortens it."""
    author = in_run("outreach", clock)
    first = claims.take(author, LEAD, note="mine")

    clock.advance(10)
    again = claims.take(author, LEAD, ttl=5)

    assert again == first


def test_the_token_grows_with_every_new_holder(claims, clock) -> None:
    """After a release and after an expiry the next token is larger, for ever."""
    tokens = [claims.take(OPERATOR, LEAD, ttl=10).token]
    claims.release(OPERATOR, LEAD)
    tokens.append(claims.take(in_run("outreach", clock), LEAD, ttl=10).token)
    clock.advance(10)
    tokens.append(claims.take(in_run("outreach", clock), LEAD, ttl=10).token)
    clock.advance(10)
    tokens.append(claims.take(OPERATOR, LEAD).token)

    assert tokens == [1, 2, 3, 4]


def test_a_claim_lasts_as_long_as_the_run(claims, clock) -> None:
    """In a run the default is its end; --ttl only shortens; outside it is half an hour."""
    author = in_run("outreach", clock, lasts=600)
    for key, ttl in (("a", None), ("b", 60.0), ("c", 9999.0)):
        claims.take(author, key, ttl=ttl)
    claims.take(OPERATOR, "d")

    held = []
    for seconds in (59, 1, 539, 1, 1199, 1):
        clock.advance(seconds)
        held.append("".join(claim.key for claim in claims.live()))

    assert held == ["abcd", "acd", "acd", "d", "d", ""]


def test_a_run_that_is_over_gets_nothing(claims, clock) -> None:
    """A process that outlives its run's time cannot take or renew."""
    author = in_run("outreach", clock, lasts=10)
    claims.take(author, LEAD, keep=100)
    clock.advance(11)

    with pytest.raises(NotAllowed, match="run outreach-1 is over"):
        claims.take(author, "other")


def test_a_kept_claim_outlives_its_run(claims, clock) -> None:
    """--keep belongs to the agent: its next run has it already, everybody else does not."""
    claims.take(in_run("outreach", clock), LEAD, keep=3 * 86400)
    claims.release_run("outreach-1")
    clock.advance(86400)

    again = claims.take(in_run("outreach", clock, run="outreach-2"), LEAD)

    assert (again.token, again.keep) == (1, True)
    claims.release_run("outreach-2")
    clock.advance(2 * 86400 - 1)
    with pytest.raises(Held):
        claims.take(in_run("reply-handler", clock), LEAD)
    clock.advance(1)
    assert claims.take(in_run("reply-handler", clock), LEAD).token == 2


# Time -------------------------------------------------------------------------------------------


def test_a_stepped_clock_changes_nothing(claims, clock) -> None:
    """Expiry goes by time since boot: setting the wall clock neither robs nor prolongs."""
    claims.take(OPERATOR, LEAD, ttl=100)

    for step in (+1e7, -3e7, +2e7 - 5):
        clock.step_wall(step)
        with pytest.raises(Held):
            claims.take(in_run("outreach", clock), LEAD)
    clock.advance(99.9)
    assert claims.get(LEAD) is not None
    clock.advance(0.1)
    assert claims.get(LEAD) is None


def test_a_claim_says_the_same_instant_each_time_it_is_asked(claims, clock) -> None:
    """`expires` does not wander with the moment of asking; a stepped clock moves it along."""
    taken = claims.take(OPERATOR, LEAD, ttl=100)

    clock.advance(0.0371)
    clock.step_wall(0.0042)  # two clocks are never read at quite the same moment
    assert claims.get(LEAD).expires == taken.expires

    clock.step_wall(3600)
    assert wall_of(claims.get(LEAD).expires) - wall_of(taken.expires) == pytest.approx(3600, abs=1)


def test_after_a_reboot_the_wall_decides(claims, clock) -> None:
    """Another boot's uptime means nothing; a claim neither ends nor becomes eternal by it."""
    claims.take(OPERATOR, LEAD, ttl=100)

    clock.advance(60)
    clock.reboot()
    clock.advance(39)
    assert claims.get(LEAD) is not None
    clock.advance(1)
    assert claims.get(LEAD) is None


def test_the_claim_of_the_dead_is_free_when_it_expires_and_not_before(claims, clock) -> None:
    """An owner who was killed is not robbed early and does not block for ever."""
    claims.take(in_run("outreach", clock, lasts=300), LEAD)

    clock.advance(299)
    with pytest.raises(Held):
        claims.take(OPERATOR, LEAD)
    clock.advance(1)
    assert claims.take(OPERATOR, LEAD).token == 2


def test_who_renews_is_not_robbed(claims, clock) -> None:
    """A renewal counts from now, never shortens, and ends at the run's end."""
    author = in_run("outreach", clock, lasts=100)
    claims.take(author, LEAD, ttl=40)
    clock.advance(30)
    claims.renew(author, LEAD, ttl=40)
    clock.advance(30)
    claims.renew(author, LEAD, ttl=1)
    claims.renew(author, LEAD)

    clock.advance(39)
    with pytest.raises(Held):
        claims.take(OPERATOR, LEAD)
    clock.advance(1)
    assert claims.get(LEAD) is None


def test_what_is_gone_cannot_be_renewed(claims, clock) -> None:
    """After its end, or when another one has it, a renewal says so."""
    claims.take(OPERATOR, LEAD, ttl=10)
    clock.advance(10)
    with pytest.raises(Unknown, match="nobody holds"):
        claims.renew(OPERATOR, LEAD)
    claims.take(in_run("outreach", clock), LEAD)
    with pytest.raises(Held, match="held by outreach"):
        claims.renew(OPERATOR, LEAD)


def test_a_renewal_outside_a_run_lasts_as_before(claims, clock) -> None:
    """Without --ttl it is the time the claim was taken for; a kept one stays kept."""
    claims.take(OPERATOR, "a", ttl=50)
    author = in_run("outreach", clock, lasts=10)
    claims.take(author, "b", keep=50)
    clock.advance(9)
    claims.renew(OPERATOR, "a")
    claims.renew(author, "b")
    clock.advance(49)

    assert [claim.key for claim in claims.live()] == ["a", "b"]
    clock.advance(1)
    assert claims.live() == []


# Giving up --------------------------------------------------------------------------------------


def test_a_release_frees_the_key(claims, clock) -> None:
    """Only the holder can; twice is once; a typo is answered with the key that was meant."""
    author = in_run("outreach", clock)
    claims.take(author, LEAD)

    with pytest.raises(Held):
        claims.release(OPERATOR, LEAD)
    with pytest.raises(Unknown, match=f"did you mean '{LEAD}'"):
        claims.release(author, "lead:sara@acme.com")
    claims.release(author, LEAD)
    claims.release(author, LEAD)

    assert claims.get(LEAD) is None
    assert claims.take(OPERATOR, LEAD).holder == "operator"


def test_the_end_of_a_run_releases_what_it_did_not_keep(claims, clock) -> None:
    """Its own claims and fleet's for it go; kept ones, other runs' and other agents' stay."""
    author = in_run("outreach", clock)
    for key in ("lead:a", "lead:b"):
        claims.take(author, key)
    claims.take(author, "lead:kept", keep=1000)
    claims.take(in_run("reply-handler", clock), "lead:c")
    claims.take(in_run("outreach", clock, run="outreach-2"), "lead:d")
    claims.take_system("agent:outreach", holder="outreach", run="outreach-1", ttl=100)

    released = claims.release_run("outreach-1")

    assert released == ["agent:outreach", "lead:a", "lead:b"]
    assert [claim.key for claim in claims.live()] == ["lead:c", "lead:d", "lead:kept"]
    assert claims.release_run("outreach-1") == []


def test_once_refuses_what_anybody_completed(claims, clock) -> None:
    """Within the time nobody gets it, oneself included; a mere release completes nothing."""
    author = in_run("outreach", clock)
    claims.take(author, "report:weekly", once=7 * 86400)
    claims.release(author, "report:weekly")
    claims.take(author, "report:weekly", once=7 * 86400)
    claims.release(author, "report:weekly", completed=True)

    clock.advance(86400)
    for again in (OPERATOR, in_run("outreach", clock, run="outreach-2")):
        with pytest.raises(Held, match=r"was completed by outreach \d+\w ago") as refused:
            claims.take(again, "report:weekly", once=7 * 86400)
        assert refused.value.holder == "outreach"
    assert claims.take(OPERATOR, "report:weekly").token == 3
    claims.release(OPERATOR, "report:weekly")
    clock.advance(6 * 86400)
    assert claims.take(OPERATOR, "report:weekly", once=7 * 86400).token == 4


def test_work_that_outlasted_its_claim_is_still_completed(claims, clock) -> None:
    """When nobody took the key meanwhile, its completion counts for `once`."""
    claims.take(OPERATOR, LEAD, ttl=10)
    clock.advance(20)
    claims.release(OPERATOR, LEAD, completed=True)

    with pytest.raises(Held):
        claims.take(OPERATOR, LEAD, once=60)


# Fleet's own keys and guards ----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["agent:outreach", "run:outreach-1", "cap:1"])
def test_fleets_own_keys_are_for_fleet(claims, clock, key) -> None:
    """No agent and no person can take, renew or release what decides about runs."""
    claims.take_system(key, holder="outreach", run="outreach-1", ttl=100)

    for author in (OPERATOR, in_run("outreach", clock)):
        for deed in (claims.take, claims.renew, claims.release, claims.permit):
            with pytest.raises(NotAllowed):
                deed(author, key)
    assert claims.get(key) is not None
    claims.release_system(key, run="outreach-2")
    assert claims.get(key) is not None
    claims.release_system(key, run="outreach-1")
    assert claims.take(SYSTEM, key).holder == "system"


def test_one_run_of_an_agent_at_a_time(claims) -> None:
    """Fleet's key is the run's, not the agent's: a second run of the same agent is refused."""
    first = claims.take_system("agent:outreach", holder="outreach", run="outreach-1", ttl=100)

    with pytest.raises(Held, match="held by outreach"):
        claims.take_system("agent:outreach", holder="outreach", run="outreach-2", ttl=100)
    again = claims.take_system("agent:outreach", holder="outreach", run="outreach-1", ttl=100)
    assert again.token == first.token


BAD_KEYS = ["", " lead", "lead ", "a\nb", "a\0b", "a\x1b[31mb", "a\u202eb", "a\u200bb", "x" * 201,
            "ä" * 101, "\ud800", "a\tb"]  # fmt: skip


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_key_is_plain_text(claims, store, key) -> None:
    """Controls, invisible characters and long texts are refused before anything is written."""
    with pytest.raises(Rejected) as refused:
        claims.take(OPERATOR, key)
    assert str(refused.value).isprintable()
    assert store.keys("", "", 10) == []


ODD_KEYS = ["../x", "a/b", ".", "..", "/", "a//b", "a" * 200, "lead:ä@b", "LEAD:A", "%2e", "a b"]


@pytest.mark.parametrize("key", ODD_KEYS)
def test_a_key_may_be_any_other_text(tmp_path, key) -> None:
    """Paths and upper case are mere text: the files store never makes a path of them."""
    claims = Claims(FilesStore(tmp_path / "state"))

    claims.take(OPERATOR, key)

    assert [claim.key for claim in claims.live()] == [key]
    assert claims.get(key.swapcase() + "!") is None
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    (document,) = tmp_path.rglob("*.json")
    assert document.parent == tmp_path / "state" / "claims"


def test_what_makes_no_sense_is_refused(claims) -> None:
    """Durations out of bounds, both of --ttl and --keep, and long notes."""
    for wrong in ({"ttl": 0}, {"ttl": -1}, {"keep": 1e9}, {"once": 0}, {"wait": 601}, {"wait": -1},
                  {"ttl": 1, "keep": 1}):  # fmt: skip
        with pytest.raises(Usage):
            claims.take(OPERATOR, LEAD, **wrong)
    for note in ("x" * 501, "a\nb", "\x1b[2J"):
        with pytest.raises(Rejected):
            claims.take(OPERATOR, LEAD, note=note)


def test_a_run_emits_under_its_claim(claims, store, clock) -> None:
    """`permit` takes the key for the rest of the run; when it is lost, the write is refused."""
    guard = claims.permit(in_run("outreach", clock, lasts=100), LEAD)

    assert guard == HeldBy(LEAD, 1)
    store.append("events", [Draft({"op": "event"})], guard=guard)
    with pytest.raises(Held):
        claims.permit(in_run("reply-handler", clock), LEAD)
    clock.advance(100)
    claims.take(in_run("reply-handler", clock), LEAD)
    with pytest.raises(Stale):
        store.append("events", [Draft({"op": "event"})], guard=guard)


def test_a_person_writes_while_nobody_holds_it(claims, store, clock) -> None:
    """`permit` takes nothing for the operator; a run's claim stops the write at the store."""
    guard = claims.permit(OPERATOR, LEAD)

    assert guard == NotHeldByOther(LEAD, "operator")
    assert claims.live() == []
    store.append("events", [Draft({"op": "event"})], guard=guard)
    claims.take(in_run("outreach", clock), LEAD)
    with pytest.raises(Stale):
        store.append("events", [Draft({"op": "event"})], guard=guard)


# History ------------------------------------------------------------------------------------------


def test_history_tells_what_happened(claims, clock) -> None:
    """Every change of the key is there in order, with its author, and no other key's."""
    author = in_run("outreach", clock)
    claims.take(author, LEAD, note="first")
    claims.take(author, "lead:other")
    claims.renew(author, LEAD)
    claims.release(author, LEAD, completed=True)
    claims.take(OPERATOR, LEAD)
    claims.release(OPERATOR, LEAD)

    told = [(r.body["op"], r.body["holder"], r.body["token"]) for r in claims.history(LEAD)]

    assert told == [
        ("taken", "outreach", 1), ("renewed", "outreach", 1), ("completed", "outreach", 1),
        ("taken", "operator", 2), ("released", "operator", 2),
    ]  # fmt: skip
    assert claims.history(LEAD)[3].body["by"] == OPERATOR.by
    assert claims.history("lead:none") == []


class _Racing(RamStore):
    """A store in which another process is quicker, once, between one's look and one's write."""

    quicker = None

    def get(self, key):
        seen = super().get(key)
        quicker, self.quicker = self.quicker, None
        if quicker:
            quicker()
        return seen


def test_who_is_overtaken_between_look_and_write_has_lost(clock) -> None:
    """The slower one does not write over the claim it did not see: it is told who was quicker."""
    store = _Racing(clock)
    claims = Claims(store)
    store.quicker = lambda: claims.take(in_run("reply-handler", clock), LEAD)

    with pytest.raises(Held, match="held by reply-handler"):
        claims.take(in_run("outreach", clock), LEAD)
    assert [record.body["holder"] for record in claims.history(LEAD)] == ["reply-handler"]


class _Killed(BaseException):
    pass


class _Dying(RamStore):
    """A store whose process dies between a claim's document and its line in the log."""

    dies = False

    def append(self, *args, **named):
        if self.dies:
            raise _Killed
        return super().append(*args, **named)


def test_a_crash_between_document_and_log_loses_nothing(clock) -> None:
    """The document holds: the claim stands, history tells it, and repeating it is the same."""
    store = _Dying(clock)
    claims = Claims(store)
    author = in_run("outreach", clock)
    claims.take(author, LEAD)
    claims.release(author, LEAD)
    store.dies = True
    with pytest.raises(_Killed):
        claims.take(author, LEAD, note="mine")
    store.dies = False

    (*_, last) = claims.history(LEAD)
    assert (last.seq, last.body["op"], last.body["token"]) == (0, "taken", 2)
    with pytest.raises(Held):
        claims.take(OPERATOR, LEAD)
    assert claims.take(author, LEAD).token == 2
    assert [record.seq for record in claims.history(LEAD)] == [1, 2, 3]


def test_lists_do_not_depend_on_the_order_of_the_log(store, claims, clock) -> None:
    """A release logged after the next holder's claim does not hide that claim."""
    claims.take(OPERATOR, LEAD)
    claims.release(OPERATOR, LEAD)
    late = claims.history(LEAD)[-1].body
    claims.take(in_run("outreach", clock), LEAD)
    store.append("claims-log", [Draft(dict(late))])

    assert [claim.holder for claim in claims.live()] == ["outreach"]
    assert claims.release_run("outreach-1") == [LEAD]


def test_a_list_costs_what_is_open(store, clock, monkeypatch) -> None:
    """With a cache, thousands of keys that were claimed once are not looked at again."""
    from fleet.stores.ram import RamCache

    claims = Claims(store, RamCache())
    for number in range(600):
        claims.take(OPERATOR, f"lead:{number}", ttl=60)
        if number % 2:
            claims.release(OPERATOR, f"lead:{number}")
    clock.advance(2 * 86400)
    for number in range(300):
        claims.take(OPERATOR, "lead:busy", ttl=60 + number)
    claims.live()
    asked = []
    get = store.get
    monkeypatch.setattr(store, "get", lambda key: asked.append(key) or get(key))

    assert [claim.key for claim in claims.live("lead:")] == ["lead:busy"]
    assert asked == [claim_document("lead:busy")]


def test_whose_keys_are_found_without_asking_for_each(claims, clock) -> None:
    """The keys of a run are its own; what may be held has all of them, expired ones too."""
    for key, run in (("cap:1", "r1"), ("cap:2", "r2"), ("agent:a", "r1")):
        claims.take_system(key, holder="a", run=run, ttl=60)

    assert claims.held_by("r1") == ["agent:a", "cap:1"]
    assert claims.held_by("r2", "cap:") == ["cap:2"]
    assert claims.held_by("r2", "agent:") == []
    assert claims.maybe_held("cap:") == ["cap:1", "cap:2"]
    clock.advance(61)
    assert claims.held_by("r1") == []
    assert claims.maybe_held("cap:") == ["cap:1", "cap:2"]
