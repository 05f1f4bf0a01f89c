"""Questions of agents to a person: the log `questions`, and how an answer reaches who asked.

It starts no run: an answer is an event addressed to the agent, and wakes it like any other.
"""

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypedDict
from zoneinfo import ZoneInfo

from fleet.alerts import raise_alert, seen_to
from fleet.bus.events import STREAM as EVENTS
from fleet.bus.later import tell_unread
from fleet.errors import Rejected, TryAgain, Unknown, Usage
from fleet.folds import fold
from fleet.identity import Author, require_operator
from fleet.logs import between, record_at
from fleet.ports import Cache, Store
from fleet.records import Body, Draft, Record, Sieve, new_id, parse_ref
from fleet.retractions import Retractions
from fleet.schemas.own import ANSWERED
from fleet.text import clip

if TYPE_CHECKING:
    from fleet.config.model import HomeConfig

STREAM = "questions"
KIND = "question"  # of the alert, whose subject is the question's reference
MAX_TEXT = 4096  # bytes of UTF-8, of a question and of the note of an answer
OPTIONS = (2, 10)  # fewest and most
MAX_OPTION = 64  # characters
MOST_OPEN = 20  # questions of one agent that are open at once
_SHOWN = 200  # characters of the text in the alert


class Question(NamedTuple):
    """One question.

    Attributes:
        record: the one that asked it.
        answer: the record of its answer, None while it is open.
        retracted: why it was taken back, None when it was not.
    """

    record: Record
    answer: Record | None = None
    retracted: str | None = None

    @property
    def agent(self) -> str:
        """Who asked."""
        return str(self.record.body["from_agent"])

    @property
    def text(self) -> str:
        """What was asked: its author's words."""
        return str(self.record.body["text"])

    @property
    def options(self) -> list[str]:
        """What can be answered."""
        options = self.record.body["options"]
        return list(map(str, options)) if isinstance(options, list) else []

    @property
    def how(self) -> str:
        """How it is answered: every option in one word, which as it stands is none of them."""
        return f"fleet answer {self.record.ref} {shlex.quote('|'.join(self.options))}"

    def as_json(self) -> Body:
        """What `--json` prints."""
        record, answer = self.record, self.answer
        said = answer and {
            "ref": answer.ref,
            "at": answer.at,
            "by": answer.body["from_agent"],
            "option": answer.body["option"],
            "note": answer.body["note"],
        }
        return {
            "ref": record.ref,
            "seq": record.seq,
            "id": record.id,
            "at": record.at,
            "agent": self.agent,
            "run": record.body["run"],
            "text": self.text,
            "options": self.options,
            "answer": said,
            "retracted": self.retracted,
        }


class _State(TypedDict):
    """Bounded by what is open: closed questions leave nothing but the newest of their agent.

    `open`: by number, agent and mark of what was asked. `untold`: by number of a question, that of
    the answer of which its agent was not told yet. `closed`: by agent, the number of the record
    that closed a question of its last.
    """

    open: dict[str, tuple[str, str]]
    untold: dict[str, int]
    closed: dict[str, int]


class Questions:
    """The questions of one home."""

    def __init__(self, store: Store, cache: Cache, config: "HomeConfig") -> None:
        self._store = store
        self._cache = cache
        self._config = config
        self._retractions = Retractions(store, cache)

    def ask(
        self, author: Author, text: str, options: Sequence[str], *, key: str | None = None
    ) -> Record:
        """Store a question and raise its alert; while the same one is open it is that one again.

        Args:
            author: an agent, or a person for one.
            text: at most `MAX_TEXT` bytes.
            options: 2 to 10, different in more than case, 1 to `MAX_OPTION` characters each.
            key: the caller's id.

        Raises:
            Usage: the author is no agent, there is no text, or these are no options.
            Rejected: the text is too long, or `key` stands for another question.
            TryAgain: `MOST_OPEN` questions of the author are open.
        """
        if author.name not in self._config.agents:
            raise Usage("a question comes from an agent", "fleet --as AGENT ask 'TEXT'")
        text = text.strip()
        _check(text, options)
        mark, state = _mark(text, options), self._state()
        open_ones, names = self._open(state), self._config.names_of(author.name)
        mine = [seq for seq, (agent, _) in open_ones.items() if agent in names]
        known = next((seq for seq in mine if open_ones[seq][1] == mark), None)
        if known is None and len(mine) >= MOST_OPEN:
            raise TryAgain(
                f"{len(mine)} questions of {author.name} are open, the most there may be",
                "end this run: an answer wakes you",
            )
        record = self._known(known) or self._asked(author, text, options, mark, key)
        question = Question(record)
        self._alert(question)
        return record

    def open(self, names: Sequence[str] = ()) -> list[Question]:
        """Every question that waits for an answer, the oldest first; of agents `names`, if any."""
        rows = self._open(self._state()).items()
        numbers = sorted(int(seq) for seq, row in rows if not names or row[0] in names)
        records = (record_at(self._store, STREAM, seq) for seq in numbers)
        return [Question(record) for record in records if record]

    def get(self, ref: str) -> Question:
        """The question of that reference (`questions#3`, or `3`), with its answer.

        Raises:
            Unknown: there is none.
            Usage: it is no reference of a question.
        """
        example = f"{STREAM}#3"
        name, seq = parse_ref(ref if "#" in ref else f"{STREAM}#{ref}", example)
        if name != STREAM:
            raise Usage(f"'{ref}' is no reference of a question", f"write it like {example}")
        record = record_at(self._store, STREAM, seq)
        if record is None or record.body.get("op") != "asked":
            raise Unknown(f"there is no question {STREAM}#{seq}", "fleet answer lists what waits")
        retracted = self._retractions.reason_of(STREAM, seq)
        return Question(record, self._answer_to(seq), retracted)

    def answer(self, author: Author, question: Question, option: str, *, note: str = "") -> Record:
        """Store a person's answer; the event that tells the agent is for `tell`, which is next.

        Returns:
            The record of the answer, durable.

        Raises:
            NotAllowed: the author is a run.
            Usage: `option` is none of the question's.
            Rejected: it is answered or was taken back, or the note is over `MAX_TEXT` bytes.
        """
        require_operator(author, "answer")
        ref = question.record.ref
        if question.retracted is not None:
            raise Rejected(f"{ref} was retracted: {question.retracted}", "fleet answer lists more")
        chosen = _chosen(question, option)
        if len(note.encode()) > MAX_TEXT:
            raise Rejected(f"a note has at most {MAX_TEXT} bytes", "send the rest: fleet send")
        if question.answer is not None:
            raise _refusal(question, question.answer, self._config.timezone)
        self._store.sync(STREAM)
        ident = new_id(self._store.now().wall)
        body: Body = {
            "op": "answered",
            "target": question.record.seq,
            "agent": question.agent,
            "option": chosen,
            "note": note,
            "from_agent": author.name,
            "by": author.by,
        }
        draft = Draft(body, ident, f"answered/{question.record.seq}", ("op", "target"))
        record = self._store.append(STREAM, [draft])[0]
        if record.id != ident:  # another person was faster
            raise _refusal(question, record, self._config.timezone)
        return record

    def tell(self) -> list[Record]:
        """Tell each agent of the answers that it was not told of yet; the events that do.

        Anybody may call it, any number of times: an answer becomes one event, `questions#N` its
        key.
        """
        untold = self._state()["untold"]
        if not untold:
            return []
        self._store.sync(STREAM)
        return [
            event
            for seq, answer in sorted(untold.items(), key=lambda pair: pair[1])
            if (event := self._tell(int(seq), answer)) is not None
        ]

    @property
    def waits(self) -> bool:
        """Whether an answer is to be told."""
        return bool(self._state()["untold"])

    def _asked(
        self, author: Author, text: str, options: Sequence[str], mark: str, key: str | None
    ) -> Record:
        closed = self._state()["closed"].get(author.name, 0)
        gone = len(self._retractions.of(STREAM))
        body: Body = {
            "op": "asked",
            "from_agent": author.name,
            "run": author.run,
            "cause": author.cause,
            "text": text,
            "options": list(options),
        }
        if author.by is not None:
            body["by"] = author.by
        # The same key for as long as no question of the agent is closed: asked twice at once, one.
        own = f"{author.name}/{mark}/{closed}/{gone}"
        draft = Draft(body, key=key or own, same=("from_agent", "text", "options"))
        return self._store.append(STREAM, [draft])[0]

    def _known(self, seq: str | None) -> Record | None:
        return None if seq is None else record_at(self._store, STREAM, int(seq))

    def _alert(self, question: Question) -> None:
        ref, options = question.record.ref, question.options
        raise_alert(
            self._store,
            kind=KIND,
            subject=ref,
            what=f"{question.agent} asks: {clip(question.text, _SHOWN)} ({', '.join(options)})",
            done="it waits for your answer, which wakes the agent",
            fix=question.how,
            key=f"{KIND}/{ref}",
        )

    def _tell(self, seq: int, answer: int) -> Record | None:
        asked, said = (record_at(self._store, STREAM, number) for number in (seq, answer))
        if asked is None or said is None:  # its line is damaged: `verify` names it
            return None
        agent = self._config.called_now(str(said.body["agent"])) or str(said.body["agent"])
        payload: Body = {
            "question": asked.ref,
            "text": asked.body["text"],
            "answer": said.body["option"],
        }
        if note := said.body["note"]:
            payload["note"] = note
        body: Body = {
            "op": "event",
            "type": ANSWERED,
            "from_agent": said.body["from_agent"],
            "to_agent": agent,
            "payload": payload,
            "cause": asked.body["cause"],
            "hops": 0,
            "run": None,
            "by": said.body["by"],
        }
        event = self._store.append(EVENTS, [Draft(body, key=asked.ref, same=("type",))])[0]
        if agent not in self._config.agents:
            tell_unread(self._store, asked, event)
        by, person = str(said.body["from_agent"]), said.body["by"]
        person = person if isinstance(person, dict) else None
        seen_to(self._store, self._cache, KIND, asked.ref, by, person)
        done: Body = {"op": "told", "target": seq, "event": event.ref}
        self._store.append(STREAM, [Draft(done, key=f"told/{seq}", same=("op", "target"))])
        return event

    def _answer_to(self, seq: int) -> Record | None:
        if str(seq) in self._state()["open"]:
            return None
        sieve = Sieve({"op": frozenset({"answered"})})
        answers = between(self._store, STREAM, seq, self._store.head(STREAM), sieve=sieve)
        return next((one for one in answers if one.body["target"] == seq), None)

    def _open(self, state: _State) -> dict[str, tuple[str, str]]:
        gone = self._retractions.of(STREAM)
        return {seq: row for seq, row in state["open"].items() if int(seq) not in gone}

    def _state(self) -> _State:
        if self._store.head(STREAM) == 0:
            return _nothing()
        return fold(self._store, self._cache, STREAM, "open", "1", _nothing, _step).state


def _nothing() -> _State:
    return {"open": {}, "untold": {}, "closed": {}}


def _step(state: _State, record: Record) -> None:
    body, target = record.body, str(record.body.get("target"))
    if body.get("op") == "asked":
        options = body["options"]
        mark = _mark(str(body["text"]), options if isinstance(options, list) else [])
        state["open"][str(record.seq)] = (str(body["from_agent"]), mark)
    elif body.get("op") == "answered" and target in state["open"]:
        del state["open"][target]
        state["untold"][target] = record.seq
        state["closed"][str(body["agent"])] = record.seq
    elif body.get("op") == "told":
        state["untold"].pop(target, None)


def _mark(text: str, options: Sequence[str]) -> str:
    """What makes two questions of an agent the same."""
    from hashlib import blake2b

    said = "\0".join([text, *options])
    return blake2b(said.encode(), digest_size=12).hexdigest()


def _check(text: str, options: Sequence[str]) -> None:
    """Refuse what is no question; raises as `Questions.ask` says."""
    if not text:
        raise Usage("a question needs a text", "fleet ask 'mail these 300?' --options yes,no")
    if len(text.encode()) > MAX_TEXT:
        raise Rejected(f"a question has at most {MAX_TEXT} bytes", "name a file or a reference")
    fewest, most = OPTIONS
    different = {option.casefold() for option in options}
    fits = all(0 < len(one) <= MAX_OPTION and one.isprintable() for one in options)
    if not fewest <= len(options) <= most or len(different) < len(options) or not fits:
        raise Usage(
            f"a question has {fewest} to {most} different options of at most {MAX_OPTION} signs",
            "fleet ask 'TEXT' --options yes,no",
        )


def _chosen(question: Question, option: str) -> str:
    """The option that is meant, in whatever case."""
    said = {one.casefold(): one for one in question.options}
    if option.strip().casefold() not in said:
        ref = question.record.ref
        choices = ", or ".join(f"fleet answer {ref} {shlex.quote(one)}" for one in question.options)
        asks = f"{question.agent} asks in {ref}: {clip(question.text, _SHOWN)}"
        no_option = f"'{clip(option, 80)}' is no option of {ref}"
        raise Usage(no_option if option.strip() else asks, f"say {choices}")
    return said[option.strip().casefold()]


def _refusal(question: Question, answer: Record, zone: str) -> Rejected:
    at = f"{datetime.fromisoformat(answer.at).astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"
    said = f"{answer.body['option']} by {answer.body['from_agent']}, {at}"
    what = f"{question.record.ref} is answered: {said}"
    return Rejected(what, f"fleet send {question.agent} 'TEXT' tells it more")
