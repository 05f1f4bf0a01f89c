"""What a caller may see of the logs: one rule for `show` and `find`, asked before any search.

A person sees everything. An agent sees events, claims and metrics, the channels that admit it, what
is between it and another one, its own memory and runs, everybody's reports, its own questions with
their answers, and what of its own or to it waits for its time.
"""

from typing import TYPE_CHECKING

from fleet.audit.said import REPORT, said
from fleet.errors import NotAllowed
from fleet.records import Record

if TYPE_CHECKING:
    from fleet.wiring import Fleet

OPEN = ("events", "claims-log", "metrics")  # what every agent may list
PARTLY = frozenset({"retractions", "questions", "later"})  # logs of which it sees its own records


class Rights:
    """What the author of `fleet` may see.

    Attributes:
        everything: a person's right.
        name: the author's.
        open_to: logs that an agent sees whole.
    """

    def __init__(self, fleet: "Fleet") -> None:
        author = fleet.author
        self.name = author.name
        self._names = fleet.config.names_of(author.name)
        self.everything = not author.agent and author.name not in fleet.config.agents
        self.open_to = () if self.everything else tuple(self._opens(fleet))

    def _opens(self, fleet: "Fleet") -> list[str]:
        author, talk = fleet.author, fleet.talk
        channels = (*talk.channels(author), *talk.directs(author))
        runs = (f"runs/{name}" for name in self._names)
        memory = fleet.memory.stream_of(self.name)
        return [*OPEN, *(f"channels/{channel.id}" for channel in channels), memory, *runs]

    def sees(self, record: Record) -> bool:
        """Whether the author may see this record."""
        return (
            self.everything
            or record.stream in self.open_to
            or (record.stream.startswith("runs/") and said(record).word == REPORT)
            or not _concerned(record).isdisjoint(self._names)
        )

    def require(self, stream: str) -> None:
        """Refuse a log of which the author may see no record at all.

        Raises:
            NotAllowed: what is in it is others'; with what may be seen.
        """
        if self.everything or stream in self.open_to or stream in PARTLY:
            return
        kind, _, name = stream.partition("/")
        if kind == "channels":
            own = [one.partition("/")[2] for one in self.open_to if one.startswith("channels/")]
            raise NotAllowed(
                f"{self.name} is no member of {name}",
                f"its channels are {', '.join(own) or 'none'}",
            )
        if kind != "runs":
            raise self.refusal(stream)

    def refusal(self, what: str) -> NotAllowed:
        """Of something that is not the author's to see."""
        yours = "an agent sees events, claims, metrics, its channels, its own runs and memory"
        return NotAllowed(f"{what} is not for {self.name}", yours)


def _concerned(record: Record) -> frozenset[str]:
    """Whose record of a log of `PARTLY` it is: who is told, who wrote it, whom it is for."""
    body = record.body
    if record.stream not in PARTLY:
        return frozenset()
    if record.stream == "retractions":
        tell = body.get("tell")
        return frozenset(map(str, tell)) if isinstance(tell, list) else frozenset()
    return frozenset(str(body.get(name)) for name in ("from_agent", "to_agent", "agent"))
