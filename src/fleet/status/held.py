"""What `status` says of accounts that hold their agents back; of all others it says nothing."""

from datetime import UTC

from fleet.accounts import account_of
from fleet.records import Body
from fleet.status.sources import Sources


def held(sources: Sources) -> list[Body]:
    """Each held account: {name, agents, state, until, why}.

    `state` is "blocked" (its login is refused), "limited" (until `until`, RFC 3339) or "paused";
    `agents` are those that share it.
    """
    found: list[Body] = []
    for name in sources.accounts.names(sources.config):
        account = sources.accounts.of(name)
        until = account.limited_until
        states = {"blocked": account.blocked, "limited": account.why, "paused": account.paused}
        state = next((state for state, why in states.items() if why), "limited" if until else "")
        if state:
            found.append(
                {
                    "name": name,
                    "agents": [
                        agent.id
                        for agent in sources.config.agents.values()
                        if account_of(agent) == name
                    ],
                    "state": state,
                    "until": until.astimezone(UTC).isoformat(timespec="seconds") if until else None,
                    "why": states[state],
                }
            )
    return found
