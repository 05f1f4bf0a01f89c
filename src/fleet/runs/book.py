"""The runs of all agents: the logs `runs/<agent>`, who is running, what was reported, and lookup.

It records and finds; whether a run may start, and how it is started, is decided elsewhere.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.errors import Unknown, Usage
from fleet.ledger import Sum
from fleet.logs import place_before
from fleet.places import Places
from fleet.ports import Cache, Store, read_kept
from fleet.records import Body, Draft, Place, Record, made_at, wall_of
from fleet.retractions import Retractions
from fleet.runs import index
from fleet.runs.outcome import Report, Verdict
from fleet.runs.report import report_body
from fleet.runs.run import Run, places_of, run_of, take
from fleet.text import suggest

if TYPE_CHECKING:
    from fleet.identity import Author

MANY = 1_000_000
NEAR = 64  # records behind a run's first moment among which all of its own are
PER_RUN = 8  # records that a run has at most, reports told again and again left aside
_BACK = re.compile(r"(?P<agent>[a-z0-9][a-z0-9_-]*)~(?P<back>\d{1,6})", re.ASCII)


class Runs:
    """All runs of one home. A method that reads may raise what the store's `read` raises.

    A run is recorded under the name that its agent has then. `names` gives every name of an agent,
    newest first: `last`, `last_ended`, `list`, `find` and `count_since` look under all of them.
    """

    def __init__(
        self,
        store: Store,
        cache: Cache,
        places: Places,
        names: Callable[[str], Sequence[str]] = lambda agent: (agent,),
    ) -> None:
        self._names = names
        self._store = store
        self._cache = cache
        self._places = places

    # Writing -----------------------------------------------------------------------------------

    def start(
        self,
        author: "Author",
        agent: str,
        run: str,
        *,
        slot: str,
        attempt: int = 1,
        caught_up: bool = False,
        shadow: bool = False,
        cli: str | None = None,
        context: Body | None = None,
        made: Body | None = None,
    ) -> Record:
        """Record that `run` begins; the same run twice is one record.

        Args:
            author: fleet itself, or the person who started it by hand.
            agent: whose run it is.
            run: its new id.
            slot: the slot it takes.
            attempt: 1, or more for a retry of the same slot.
            caught_up: whether it stands for slots that were missed.
            shadow: whether what it writes to others waits for a person.
            cli: the version of the CLI, "" when that is not known; None for other commands.
            context: what its prompt shows, the `facts` of its manifest; may come with `finish`.
            made: what its context was made from, so that it can be built again.
        """
        body: Body = {"op": "started", "run": run, "agent": agent, "slot": slot}
        body |= {"attempt": attempt, "by": author.by, "caught_up": caught_up, "shadow": shadow}
        body |= {"cli": cli, "context": context, "made": made}
        return self._append(agent, body, key=f"started:{run}")

    def finish(
        self,
        agent: str,
        run: str,
        verdict: Verdict,
        *,
        ended: str,
        context: Body | None = None,
        files: Mapping[str, str] | None = None,
        read: tuple[Sequence[str], int] = ((), 0),
        reserved: Sum | None = None,
    ) -> Record:
        """Record how `run` ended; the first end that was recorded stands.

        Args:
            agent: whose run it is.
            run: its id.
            verdict: what became of it; `advance` is recorded only where its row advances.
            ended: RFC 3339.
            context: as in `start`; None takes what `start` was given.
            files: by name the hash of each file that it left in its folder.
            read: references of what it read after its prompt, and how many are left out of them.
            reserved: what was set aside for it, which counts where nobody knows what it used.
        """
        known = self._index(agent)["whole"].get(run, {})
        facts = context if context is not None else _mapping(known.get("context"))
        body: Body = {"op": "ended", "run": run, "agent": agent, "ended": ended, **asdict(verdict)}
        body |= {"shown": facts.get("shown", []), "events_shown": facts.get("events_shown", 0)}
        body |= {"lanes": facts.get("lanes", {}), "events": facts.get("events", {})}
        body["advance"] = facts.get("advance", {}) if verdict.row.advances else {}
        body["files"] = dict(files or {})
        if read[0]:
            body |= {"read": list(read[0]), "read_left_out": read[1]}
        if reserved is not None:
            body["reserved"] = {"cost": reserved.cost, "tokens": reserved.tokens}
        return self._append(agent, body, key=f"ended:{run}")

    def report(
        self,
        author: "Author",
        text: str,
        *,
        next: str = "",  # noqa: A002 - the word of the record and of the command
        idle: bool = False,
    ) -> Record:
        """What the author's own run did; the last report of a run stands.

        Raises:
            Usage: the author is in no run, or says nothing.
            Rejected: a text is over `MAX_REPORT` bytes.
        """
        return self._append(author.name, report_body(author, text, next, idle=idle))

    def _append(self, agent: str, body: Body, key: str | None = None) -> Record:
        draft = Draft(body, key=key, same=("op", "run"))
        return self._store.append(_stream(agent), [draft])[0]

    # Reading -----------------------------------------------------------------------------------

    def sync(self, agent: str) -> None:
        """Make what was read of the agent's runs durable: before anything acts on it.

        Raises:
            Unsettled: the sync failed.
        """
        self._store.sync(_stream(agent))

    def folder(self, run: str) -> Path:
        """The folder of a run's files, whether it is there or not."""
        return self._places.run_folder(run)

    def last(self, agent: str, back: int = 0) -> Run | None:
        """The agent's newest run (open or ended), or the one `back` before it.

        As agents are told of it: a retracted one without its report.
        """
        found = self._last(agent, back)
        return self._quiet(found) if found else None

    def _last(self, agent: str, back: int) -> Run | None:
        found = self._index(agent)
        if back < len(found["runs"]):
            entry = found["runs"][-1 - back]
            known = found["whole"].get(entry["id"])
            return run_of(known) if known else self._between(agent, entry)
        return next(iter(self.list(agent, back + 1)[back:]), None)

    def last_ended(self, agent: str) -> Run | None:
        """The agent's newest run that has an end; a retracted one without its report."""
        for name in self._names(agent):
            ended = [known for known in self._whole(name) if known.get("outcome") is not None]
            if ended:
                return self._quiet(run_of(ended[-1]))
        return None

    def made(self, run: Run) -> Body | None:
        """What the context of `run` was made from; None when it had none, or says nothing of it."""
        entries = self._index(run.agent)["runs"]
        place = next((entry for entry in entries if entry["id"] == run.id), None)
        after, upto = (place["first"] - 1, place["last"]) if place else (0, MANY)
        for record in self._records(run.agent, after, upto):
            if (record.body.get("op"), record.body.get("run")) == ("started", run.id):
                made = record.body.get("made")
                return made if isinstance(made, dict) else None
        return None

    def list(
        self,
        agent: str | None,
        limit: int,
        *,
        since: float | None = None,
        until: float | None = None,
    ) -> Sequence[Run]:
        """The newest `limit` runs, of one agent or of all, newest first.

        Args:
            agent: whose; None for everybody's.
            limit: how many.
            since: not begun before (epoch seconds).
            until: not begun after (epoch seconds).
        """
        agents = self.agents() if agent is None else self._names(agent)
        if since is until is None:
            runs = [run for name in agents for run in self._newest(name, limit)]
        else:
            runs = [run for name in agents for run in self._begun(name, limit, since, until)]
        newest = sorted(runs, key=lambda run: (run.started, run.id), reverse=True)[:limit]
        return self._marked(newest)

    def open(self, agent: str | None = None) -> Sequence[Run]:
        """Runs that were started and have no end, of one agent or of all, oldest first."""
        agents = self.agents() if agent is None else [agent]
        runs = [run_of(known) for name in agents for known in self._whole(name)]
        return sorted((run for run in runs if run.open), key=lambda run: (run.started, run.id))

    def report_of(self, agent: str, run: str) -> Report | None:
        """What the agent reported about `run`, one of its newest; None when it said nothing."""
        known = self._index(agent)["whole"].get(run)
        found = run_of(known) if known else None
        return Report(found.report, found.next, found.idle) if found and found.report else None

    def agents(self) -> Sequence[str]:
        """Every agent that has run, sorted."""
        names: list[str] = []
        while page := self._store.streams("runs/", names[-1] if names else "", 500):
            names += page
        return [name.removeprefix("runs/") for name in names]

    def find(self, ref: str) -> Run:
        """The run that `ref` means: an id, a unique prefix, an agent, `agent~1` or `last`.

        Raises:
            Unknown: there is no such run.
            Usage: the prefix fits several.
        """
        if ref == "last":
            newest = self.list(None, 1)
            if not newest:
                raise Unknown("nothing has run yet", "fleet run AGENT starts one")
            return newest[0]
        agents = self.agents()
        back = _BACK.fullmatch(ref)
        agent = back["agent"] if back else ref
        if not set(agents).isdisjoint(self._names(agent)):
            run = self._last(agent, int(back["back"]) if back else 0)
            if run is None:
                raise Unknown(f"{agent} has not run so often", f"fleet runs {agent}")
            return self._marked([run])[0]
        return self._marked([self._by_prefix(ref, agents)])[0]

    def of(self, agent: str, run: str) -> Run | None:
        """The run with that very id, recorded under the name `agent`; None when there is none.

        An old one is found by the time in its id, without reading what came later.
        """
        known = self._index(agent)
        if run in known["whole"]:
            return run_of(known["whole"][run])
        entry = next((one for one in reversed(known["runs"]) if one["id"] == run), None)
        if entry or len(known["runs"]) < index.NEWEST:
            return self._between(agent, entry) if entry else None
        after = place_before(self._store, _stream(agent), (made_at(run) or 0.0) - 1).seq
        return self._read(agent, after, after + NEAR).get(run)

    def exists(self, agent: str, run: str) -> bool:
        """Whether there is any record of the agent's run `run`."""
        known = self._index(agent)["runs"]
        return any(entry["id"] == run for entry in known) or (
            len(known) == index.NEWEST and run in self._read(agent, 0, MANY)
        )

    def count_since(self, agent: str, wall: float) -> int:
        """How many runs the agent began since `wall` (epoch seconds), counted to 200."""
        begun = (entry for name in self._names(agent) for entry in self._index(name)["runs"])
        return sum(wall_of(entry["at"]) >= wall for entry in begun)

    def attempts(self, agent: str, lanes: dict[str, Place] | None = None) -> dict[int, int]:
        """How often each event was shown to a run that failed since its lane last moved.

        Args:
            agent: who was shown them.
            lanes: where its lanes stand now, as `bus.lanes` says; a failure counts while its
                lane stands where that run found it. None: where the newest failure found them.

        Returns:
            Counted failures by the event's number.
        """
        return index.attempts(self._index(agent), lanes)

    def last_ok_advance(self, agent: str) -> dict[str, Place]:
        """Where the agent's lanes stand by its successful runs, newest word for each lane."""
        return places_of(self._index(agent)["advance"])

    def _marked(self, runs: Sequence[Run]) -> Sequence[Run]:
        """The runs, those that were retracted with the reason."""
        retractions = Retractions(self._store, self._cache)
        if retractions.runs().isdisjoint(run.id for run in runs):
            return runs
        return [replace(run, retracted=retractions.reason_of_run(run.id)) for run in runs]

    def _quiet(self, run: Run) -> Run:
        """The run as agents are told of it: what a retracted one said is left out."""
        run = self._marked([run])[0]
        return run if run.retracted is None else replace(run, report="", next="")

    def _index(self, agent: str) -> index.Index:
        return index.of(self._store, self._cache, agent)

    def _whole(self, agent: str) -> Sequence[Body]:
        """Open and newest ended runs, in the order of their beginning."""
        return sorted(
            self._index(agent)["whole"].values(), key=lambda known: int(str(known["first"]))
        )

    def _newest(self, agent: str, limit: int) -> Sequence[Run]:
        entries = self._index(agent)["runs"]
        after = entries[-limit]["first"] - 1 if 0 < limit <= len(entries) else 0
        return list(self._read(agent, after, MANY).values())[-limit:] if limit else []

    def _begun(
        self, agent: str, limit: int, since: float | None, until: float | None
    ) -> Iterator[Run]:
        """At least the newest `limit` runs begun in that time, which is found by bisection."""
        stream, after = _stream(agent), 0
        if since is not None:
            after = place_before(self._store, stream, since).seq
        elif until is not None:
            after = max(0, place_before(self._store, stream, until).seq - PER_RUN * limit)
        for run in self._read(agent, after, MANY).values():
            began = wall_of(run.started) if run.started else None
            if began is not None and (until is None or began <= until):
                yield run

    def within(self, agent: str, run: str, first: int, last: int) -> Run | None:
        """The agent's run `run`, whose records stand from number `first` to `last` of its log."""
        found = self._read(agent, first - 1, last).get(run)
        return self._marked([found])[0] if found else None

    def _between(self, agent: str, entry: index.Entry) -> Run | None:
        return self._read(agent, entry["first"] - 1, entry["last"]).get(entry["id"])

    def _read(self, agent: str, after: int, upto: int) -> dict[str, Run]:
        """The runs that the records above `after` tell of, by id, in the order of beginning."""
        known: dict[str, Body] = {}
        for record in self._records(agent, after, upto):
            run = record.body.get("run")
            if isinstance(run, str):
                take(known.setdefault(run, {}), record)
        return {run: run_of(said) for run, said in known.items() if said}

    def _records(self, agent: str, after: int, upto: int) -> Iterator[Record]:
        while after < upto:
            batch = read_kept(self._store, _stream(agent), after, min(500, upto - after))
            yield from batch.records
            if batch.upto <= after:
                return
            after = batch.upto

    def _by_prefix(self, prefix: str, agents: Sequence[str]) -> Run:
        known = {
            entry["id"]: (agent, entry)
            for agent in agents
            for entry in self._index(agent)["runs"]
            if entry["id"].startswith(prefix)
        }
        found = {run: self._between(*place) for run, place in known.items()}
        if not found:  # older than the index reaches
            old = [run for agent in agents for run in self._read(agent, 0, MANY).values()]
            found = {run.id: run for run in old if run.id.startswith(prefix)}
        fitting = [found[prefix]] if prefix in found else list(found.values())
        runs = [run for run in fitting if run]
        if len(runs) > 1:
            some = ", ".join(f"{run.ref} ({run.agent})" for run in runs[:3])
            raise Usage(f"{prefix} fits {len(runs)} runs", f"type more of it: {some}")
        if not runs:
            raise Unknown(f"no run '{prefix}'", suggest(prefix, agents) or "fleet runs lists them")
        return runs[0]


def _stream(agent: str) -> str:
    return f"runs/{agent}"


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
