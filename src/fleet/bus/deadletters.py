"""Events that were set aside: the log `deadletters`; when one is, the bus decides."""

from collections.abc import Sequence

from fleet.alerts import raise_alert
from fleet.ports import Store, read_kept
from fleet.records import Body, Draft, Record, Sieve

STREAM = "deadletters"
NEWEST = 1000  # dead letters among which those of one agent are looked for


def put(store: Store, agent: str, record: Record, attempts: int, runs: Sequence[str]) -> Record:
    """The dead letter of `agent` for the event `record`, with its alert; repeating it is fine."""
    body: Body = {
        "op": "dead",
        "agent": agent,
        "event": record.ref,
        "attempts": attempts,
        "runs": list(runs),
    }
    draft = Draft(body, key=f"{agent}/{record.id}", same=("agent", "event"))
    dead = store.append(STREAM, [draft])[0]
    raise_alert(
        store,
        kind="dead-letter",
        subject=agent,
        what=f"{attempts} runs of {agent} failed on {record.ref}",
        done=f"it was set aside as {dead.ref}, and the agent goes on without it",
        fix=f"fleet events --after {record.seq - 1} --limit 1 shows it, fleet runs {agent} what "
        "failed; emit it again when that is mended",
        key=f"dead-letter/{agent}/{record.id}",
    )
    return dead


def refs_for(store: Store, agent: str) -> frozenset[str]:
    """References of the events that were set aside for `agent`, among the newest `NEWEST`."""
    after = max(0, store.head(STREAM) - NEWEST)
    sieve = Sieve({"agent": frozenset({agent})})
    found = read_kept(store, STREAM, after, NEWEST, sieve=sieve).records
    return frozenset(str(record.body["event"]) for record in found)
