"""Which alerts are open: a fold over the log, by kind and subject, until somebody acknowledges."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fleet
from fleet import alerts
from fleet.alerts import Alert, acknowledge, open_ones, raise_alert, raised
from fleet.errors import Unknown
from fleet.records import Draft, Record
from fleet.stores.ram import RamCache, RamStore


class World:
    """A store with alerts in it."""

    def __init__(self) -> None:
        self.store, self.cache = RamStore(), RamCache()

    def hear(self, subject: str, kind: str = "loop", what: str = "w", key: str = "") -> Record:
        """Somebody raises an alert."""
        return raise_alert(
            self.store, kind=kind, subject=subject, what=what, done="d", fix="f", key=key or None
        )

    def ack(self, *seqs: int) -> list[Alert]:
        """A person acknowledges those; everything without a number."""
        return acknowledge(self.store, self.cache, seqs or None, by="operator", person=None)

    def open(self) -> list[tuple[str, str, int]]:
        """Kind, subject and count of the open ones, once as cached and once computed anew."""
        found, anew = (open_ones(self.store, cache) for cache in (self.cache, RamCache()))
        assert found == anew
        return [(one.kind, one.subject, one.count) for one in found]


@pytest.fixture
def world() -> World:
    """A store without alerts."""
    return World()


def test_the_same_key_is_one_alert(world: World) -> None:
    """An alert with a key exists once however often it is raised, and others beside it."""
    first, again = world.hear("a", key="k"), world.hear("a", key="k")
    world.hear("b")

    assert first.seq == again.seq
    assert world.open() == [("loop", "a", 1), ("loop", "b", 1)]


def test_one_kind_about_one_subject_is_one_with_the_newest_text(world: World) -> None:
    """Open alerts are told apart by kind and subject; count, first and last time are kept."""
    first = world.hear("a", what="old")
    world.hear("a", "failing")
    last = world.hear("a", what="new")

    *_, one = open_ones(world.store, world.cache)

    assert world.open() == [("failing", "a", 1), ("loop", "a", 2)]
    assert (one.what, one.ref, one.at, one.first) == ("new", last.ref, last.at, first.at)


def test_acknowledged_is_closed_until_it_is_raised_again(world: World) -> None:
    """Any alert's number closes its sort up to now, and no other; the next one opens it again."""
    world.hear("a")
    world.hear("b")
    world.hear("a")

    (closed,) = world.ack(1)
    assert (closed.ref, closed.count, closed.open) == ("alerts#3", 2, False)
    assert world.open() == [("loop", "b", 1)]
    assert world.ack(1) == []
    again = world.hear("a")
    (*_, one) = open_ones(world.store, world.cache)

    assert (one.ref, one.count, one.first) == (again.ref, 1, again.at)
    assert [one.subject for one in world.ack()] == ["b", "a"]
    assert world.open() == []


def test_what_is_raised_while_somebody_acknowledges_stays_open(world: World) -> None:
    """An acknowledgement names what its author saw: what came before it was written stays."""
    world.hear("a")
    world.hear("a")
    world.hear("b")
    told = {"op": "ack", "ref": "alerts#1", "kind": "loop", "subject": "a"}
    world.store.append(alerts.STREAM, [Draft(told)])
    assert world.open() == [("loop", "a", 1), ("loop", "b", 1)]

    world.store.append(alerts.STREAM, [Draft({"op": "ack", "ref": "alerts#2", "all": True})])

    assert world.open() == [("loop", "b", 1)]


def test_all_of_them_say_which_are_open(world: World) -> None:
    """`raised` gives every alert by itself, the newest ones, oldest first."""
    for subject in "aabc":
        world.hear(subject)
    world.ack(4)
    world.hear("c")

    found = raised(world.store, world.cache, 9)

    assert [(one.ref, one.open) for one in found] == [
        ("alerts#1", True),
        ("alerts#2", True),
        ("alerts#3", True),
        ("alerts#4", False),
        ("alerts#6", True),
    ]
    assert [one.ref for one in raised(world.store, world.cache, 2)] == ["alerts#4", "alerts#6"]


def test_what_is_no_alert_cannot_be_acknowledged(world: World) -> None:
    """A number that is no alert's is refused, and nothing else is closed with it."""
    world.hear("a")
    world.hear("b")
    world.ack(1)

    for seqs in ((2, 3), (2, 9), (0,)):
        with pytest.raises(Unknown, match="there is no alert"):
            world.ack(*seqs)
    assert world.open() == [("loop", "b", 1)]


def test_a_flood_of_sorts_stays_small(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """More open sorts than are held fall out at the old end, counted, until all are closed."""
    monkeypatch.setattr(alerts, "MOST", 3)
    for number in range(5):
        world.hear(str(number), what="x" * 5000)

    assert [one.subject for one in open_ones(world.store, world.cache)] == ["2", "3", "4"]
    assert {len(one.what) for one in open_ones(world.store, world.cache)} == {alerts.LONGEST}
    assert alerts.older(world.store, world.cache) == 2
    world.ack()
    assert alerts.older(world.store, world.cache) == 0


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every `raise_alert(…)` of the program, with its file."""
    root = Path(fleet.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "raise_alert":
                yield str(path.relative_to(root)), node


def test_every_alert_says_what_happened_was_done_and_is_to_do() -> None:
    """No alert of the program leaves out what happened, what fleet did, or what a person does."""
    found = list(calls())

    assert len(found) >= 9
    for path, call in found:
        said = {keyword.arg: keyword.value for keyword in call.keywords}
        for name in ("kind", "subject", "what", "done", "fix"):
            assert name in said, f"{path}:{call.lineno} has no {name}"
            empty = isinstance(said[name], ast.Constant) and not said[name].value
            assert not empty, f"{path}:{call.lineno}: {name} says nothing"


def test_every_kind_is_told_in_the_docs() -> None:
    """The table of kinds has each kind that the program raises, and whether it is a notice."""
    page = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| `[a-z-]+` \|", line)]
    told = {row[0].strip("| `"): row[-1].startswith("no") for row in rows if len(row) == 3}

    kinds = set(re.findall(r'[kK][iI][nN][dD]\s?=\s?"([a-z-]+)"', raising()))
    assert {*kinds, *alerts.NOTICES, "replaced-log", "trimmed-unread"} == set(told)
    assert {kind for kind, notice in told.items() if notice} == alerts.NOTICES


def raising() -> str:
    """The text of every file that raises an alert."""
    root = Path(fleet.__file__).parent
    return "".join((root / path).read_text() for path in sorted({path for path, _ in calls()}))
