"""Who is calling: a run by its token, or a person; and what only a person may do.

Nothing a caller says about himself counts. Whoever shares the operator's Unix user can still read
another process's environment: identity is tamper-evident there, not tamper-proof.
"""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from fleet.errors import Conflict, NotAllowed, Unknown
from fleet.places import safe_name
from fleet.ports import Store
from fleet.processes import RUN_VARIABLE, ancestors
from fleet.records import Body, Instant, rfc3339

TOKEN_VARIABLE = "FLEET_RUN_TOKEN"  # noqa: S105 - the name, not a token
RESERVED_NAMES = frozenset({"operator", "human", "system", "all", "fleet"})
OPERATOR = "operator"
TOKEN_BYTES = 32
_TRIES = 50
_END_HERE = "end this run: the next one gets its own token"


class Author(NamedTuple):
    """Who writes a record, decided by `resolve` and carried into every use-case.

    Attributes:
        name: the agent's id, `operator`, or `system` for fleet's own records.
        run: the run that writes, None outside of one.
        hive: the visibility boundary, "" for the home's own.
        agent: True for a run: the agents' half of the commands only.
        by: for a person `{tty, pid, uid}`, else None.
        hops: how many wakes lie between a person's or a schedule's deed and this run.
        cause: the reference that woke this run, or None.
        until: when the run's token ends, None outside of a run.
        shadow: what it writes to others waits for a person.
    """

    name: str
    run: str | None
    hive: str
    agent: bool
    by: Body | None = None
    hops: int = 0
    cause: str | None = None
    until: Instant | None = None
    shadow: bool = False


SYSTEM: Final = Author("system", None, "", agent=False)
"""Fleet itself: runner, settling, migrations."""


def resolve(
    store: Store,
    env: Mapping[str, str],
    *,
    as_agent: str | None = None,
    known_agents: Collection[str],
    hive: str = "",
) -> Author:
    """The author of what this process is about to do.

    Args:
        store: where the tokens are.
        env: this process's environment.
        as_agent: whom a person acts for (`--as`).
        known_agents: every agent of the home.
        hive: a person's hive, "" for the home's own.

    Raises:
        NotAllowed: a token that is invalid, ended or of another home; `--as` in a run; a process
            of a run without its token; a reserved name.
        Unknown: `as_agent` is no agent.
    """
    token = env.get(TOKEN_VARIABLE)
    if token is not None:
        author = _of_token(store, token)
        if env.get(RUN_VARIABLE, author.run) != author.run:
            raise NotAllowed(f"the token is not that of run {env[RUN_VARIABLE]}", _END_HERE)
        if as_agent is not None:
            raise NotAllowed(
                f"you are {author.name} (run {author.run}) and cannot act as {as_agent!r}",
                "leave --as out",
            )
        return author
    run = env.get(RUN_VARIABLE) or _run_of_ancestors()
    if run:
        raise NotAllowed(
            f"this process belongs to run {run} and has no {TOKEN_VARIABLE}",
            "call fleet with the run's own environment",
        )
    if as_agent is not None:
        require_agent_name(as_agent, known_agents)
    return Author(as_agent or OPERATOR, None, hive, agent=False, by=_person())


def issue_token(  # noqa: PLR0917 - what a token says, in the order of its document
    store: Store,
    run: str,
    agent: str,
    hive: str,
    lifetime_s: float,
    hops: int,
    cause: str | None = None,
    *,
    shadow: bool = False,
) -> str:
    """A token for `run`, valid for `lifetime_s` seconds or until `end_token`; only its hash stays.

    Issued again for the same run, it replaces the earlier one.
    """
    secret = os.urandom(TOKEN_BYTES).hex()
    now = store.now()
    body: Body = {
        "agent": agent,
        "run": run,
        "hash": _hash(secret),
        "hive": hive,
        "expires_wall": now.wall + lifetime_s,
        "boot": now.boot,
        "until_uptime": now.uptime + lifetime_s,
        "hops": hops,
        "cause": cause,
        "shadow": shadow,
        "ended": None,
    }
    _, version = store.get(_document(run))
    store.put(_document(run), body, expect=version)
    return f"{run}.{secret}"


def end_token(store: Store, run: str) -> None:
    """From now on the token of `run` is refused; repeating it, or a run without one, is fine."""
    for left in reversed(range(_TRIES)):
        body, version = store.get(_document(run))
        if body is None or body.get("ended"):
            return
        try:
            ended = {**body, "ended": rfc3339(store.now().wall)}
            store.put(_document(run), ended, expect=version)
        except Conflict:
            if not left:
                raise


def require_operator(author: Author, what: str) -> None:
    """Refuse a run to do `what` ("pause", "edit the home"), which only a person may.

    Raises:
        NotAllowed: the author is a run.
    """
    if author.agent:
        raise NotAllowed(
            f"{what} is for operators, you are {author.name} (run {author.run})",
            "fleet --help shows what agents may do",
        )


def require_person(env: Mapping[str, str], what: str, instead: str = "") -> None:
    """Refuse `what` to any process of a run, also where no home is there to resolve an author.

    `instead` is what a run can do.

    Raises:
        NotAllowed: this process, or one above it, was started in a run.
    """
    if TOKEN_VARIABLE in env or env.get(RUN_VARIABLE) or _run_of_ancestors():
        raise NotAllowed(
            f"{what} is for operators, not for a run",
            instead or "fleet --help shows what agents may do",
        )


def require_agent_name(name: str, known_agents: Collection[str]) -> None:
    """Refuse a name under which no agent can act.

    Raises:
        NotAllowed: the name is reserved.
        Unknown: no agent has it; the nearest one is suggested.
    """
    if name in RESERVED_NAMES:
        from fleet.text import one_of

        raise NotAllowed(f"nobody acts as {name!r}", one_of(name, known_agents))
    if name not in known_agents:
        from fleet.text import clip, one_of

        raise Unknown(f"there is no agent {clip(name, 80)!r}", one_of(name, known_agents))


def _of_token(store: Store, token: str) -> Author:
    run, _, secret = token.rpartition(".")
    if len(secret) != 2 * TOKEN_BYTES or not secret.isascii() or not safe_name(run):
        raise NotAllowed(f"{TOKEN_VARIABLE} holds no token", _END_HERE)
    body, _ = store.get(_document(run))
    if body is None:
        raise NotAllowed(
            f"the token of run {run} is not of this home", "work in the run's own home"
        )
    if not _equal(str(body["hash"]), _hash(secret)):
        raise NotAllowed(f"the token of run {run} is not the one it was given", _END_HERE)
    if body.get("ended"):
        raise NotAllowed(f"run {run} has ended, and its token with it", _END_HERE)
    now = store.now()
    until = _end(body, now)
    if until.uptime <= now.uptime:
        raise NotAllowed(f"the token of run {run} has expired", _END_HERE)
    hops, cause = body.get("hops"), body.get("cause")
    return Author(
        name=str(body["agent"]),
        run=run,
        hive=str(body["hive"]),
        agent=True,
        hops=hops if isinstance(hops, int) else 0,
        cause=str(cause) if cause else None,
        until=until,
        shadow=bool(body.get("shadow")),
    )


def _end(body: Body, now: Instant) -> Instant:
    """When the token ends, in the terms of `now`: by uptime within its boot, else by wall."""
    same_boot = body.get("boot") == now.boot
    end, at = (
        (body.get("until_uptime"), now.uptime)
        if same_boot
        else (body.get("expires_wall"), now.wall)
    )
    left = end - at if isinstance(end, (int, float)) else 0.0
    return Instant(now.wall + left, now.boot, now.uptime + left)


def _run_of_ancestors() -> str | None:
    """The run that this process or one above it was started in, as far as /proc shows it."""
    if not os.path.exists("/proc/self/environ"):  # noqa: PTH110 - one stat, no objects
        return None
    marker = f"{RUN_VARIABLE}=".encode()
    for pid in (os.getpid(), *ancestors(os.getpid())):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # another user's process, or a system without /proc
            continue
        for entry in environment.split(b"\0"):
            if entry.startswith(marker) and entry != marker:
                return entry[len(marker) :].decode("utf-8", "replace")
    return None


def _person() -> Body:
    terminals = (os.ttyname(fd) for fd in (0, 1, 2) if os.isatty(fd))
    return {"tty": next(terminals, ""), "pid": os.getpid(), "uid": os.getuid()}


def _document(run: str) -> str:
    return f"tokens/{run}"


def _hash(secret: str) -> str:
    try:
        from _blake2 import blake2b  # hashlib would load OpenSSL, for every emit of every run
    except ImportError:
        from hashlib import blake2b
    return str(blake2b(secret.encode(), digest_size=32).hexdigest())


def _equal(one: str, two: str) -> bool:
    from _operator import _compare_digest  # hmac's own, without hmac's import of hashlib

    return _compare_digest(one, two)
