"""What no log tells and a context needs all the same: kept in the run's manifest.

So the same bytes can be built again. What a section says besides comes from logs (`Sources`).
"""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fleet.claims import Claim
from fleet.config.model import Agent, HomeConfig
from fleet.context import examples
from fleet.context.examples import Examples
from fleet.cursors import channel_lane, document_of
from fleet.ports import Store
from fleet.records import Body, Place
from fleet.runs import places_body, places_of
from fleet.talk.direct import directs_of

if TYPE_CHECKING:
    from fleet.claims import Claims
    from fleet.cursors import Cursors
    from fleet.schemas import Registry

CLAIMS = 20  # held ones that are told; the others are counted
_FLEETS_OWN = ("agent:", "run:", "cap:")  # claims that no agent took


class Given(NamedTuple):
    """Values of one moment; each of them small.

    Attributes:
        now: epoch seconds.
        nonce: closes the fences; letters and digits.
        health: the word for the system's state.
        lanes: where the agent's lanes stood, those that had begun.
        directs: the agent's channels of two with records behind those places.
        claims: what the agent held, by key; the first `CLAIMS` of them.
        more_claims: how many more it held.
        examples: by which it is taught `fleet`.
    """

    now: float
    nonce: str
    health: str
    lanes: Mapping[str, Place]
    directs: tuple[str, ...]
    claims: tuple[Claim, ...]
    more_claims: int
    examples: Examples

    def documents(self, agent: str) -> dict[str, Body]:
        """What a snapshot needs of documents so that every part answers as it did."""
        key, body = document_of(agent, self.lanes)
        return {key: body}

    def as_json(self) -> Body:
        """As the manifest holds it."""
        return {
            "now": self.now,
            "nonce": self.nonce,
            "health": self.health,
            "lanes": places_body(self.lanes),
            "directs": list(self.directs),
            "claims": [claim._asdict() for claim in self.claims],
            "more_claims": self.more_claims,
            "examples": list(self.examples),
        }


@dataclass(frozen=True, slots=True)
class Present:
    """The parts of a home that tell it, as they are now; `health` is the word of `status`."""

    config: HomeConfig
    store: Store
    cursors: "Cursors"
    claims: "Claims"
    schemas: "Registry"
    health: str

    def given(self, agent: Agent, now: float, nonce: str | None) -> Given:
        """What is given to a context of `agent` at `now` (epoch seconds); a nonce is made."""
        held = self._held(agent.id)
        lanes = self.cursors.get(agent.id)
        return Given(
            now=now,
            nonce=nonce or secrets.token_hex(4),
            health=self.health,
            lanes=lanes,
            directs=tuple(self._directs(agent.id, lanes)),
            claims=tuple(held[:CLAIMS]),
            more_claims=len(held[CLAIMS:]),
            examples=examples.of_home(self.config, agent, self.schemas),
        )

    def _directs(self, agent: str, lanes: Mapping[str, Place]) -> Iterator[str]:
        for channel in directs_of(self.store, agent):
            lane = channel_lane(channel)
            if self.store.head(lane) > lanes.get(lane, Place(0)).seq:
                yield channel

    def _held(self, agent: str) -> list[Claim]:
        held = [claim for claim in self.claims.live() if claim.holder == agent]
        own = [claim for claim in held if not claim.key.startswith(_FLEETS_OWN)]
        return sorted(own, key=lambda claim: claim.key)


def given_of(body: Body) -> Given:
    """The reverse of `Given.as_json`.

    Raises:
        KeyError, TypeError, ValueError: it is no such body.
    """
    claims, taught, directs = body["claims"], body["examples"], body["directs"]
    if not isinstance(claims, list) or not isinstance(taught, list):
        raise TypeError("claims and examples are lists")
    if not isinstance(directs, list):
        raise TypeError("directs is a list")
    return Given(
        now=float(str(body["now"])),
        nonce=str(body["nonce"]),
        health=str(body["health"]),
        lanes=places_of(body["lanes"]),
        directs=tuple(directs),
        claims=tuple(Claim(**claim) for claim in claims),
        more_claims=int(str(body["more_claims"])),
        examples=Examples(*taught),
    )
