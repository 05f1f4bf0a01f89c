"""What no file can say alone: whether the names in one file exist in another, and fit together.

It works on the written text, so that a file with other faults is checked all the same.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fleet.config.faults import dotted
from fleet.config.resolve import merged, working_folder
from fleet.config.sources import RESERVED, TAKEN, Sources
from fleet.config.values import known
from fleet.config.yamltext import Document, Tree
from fleet.config.yamltext import Path as TreePath
from fleet.errors import Finding

AGENT_REFERENCES = (
    ("agent", ("collaborators", "*")),
    ("type", ("interests", "*")),
    ("channel", ("channels", "*")),
    ("type", ("wake_on", "types", "*")),
    ("type", ("expects", "any_of", "*", "event")),
    ("type", ("expects", "all_of", "*", "event")),
    ("channel", ("expects", "any_of", "*", "post")),
    ("channel", ("expects", "all_of", "*", "post")),
    ("template", ("prompt",)),
)
FLEET_REFERENCES = (
    ("type", ("vitals", "*", "count")),
    ("agent", ("accounts", "*", "agents", "*")),
    *((kind, ("defaults", *pattern)) for kind, pattern in AGENT_REFERENCES),
)
CHANNEL_REFERENCES = (("agent", ("members", "*")),)
_WORDING = {
    "agent": "there is no agent {name!r}",
    "type": "there is no event type {name!r}",
    "channel": "there is no channel {name!r}",
    "template": "there is no prompts/{name}",
}
_OWN_FOLDERS = ("state", "agents", "channels", "schemas", "prompts")


@dataclass(frozen=True, slots=True)
class Home:
    """All that could be read: documents by id, and what names exist."""

    sources: Sources
    fleet: Document | None
    agents: dict[str, Document]
    channels: dict[str, Document]

    @property
    def defaults(self) -> dict[str, Tree]:
        """What fleet.yaml says for every agent."""
        found = self.fleet.tree.get("defaults") if self.fleet else None
        return found if isinstance(found, dict) else {}

    @property
    def knows_defaults(self) -> bool:
        """Whether what an agent's file leaves out is known; else leaving it out is no fault."""
        return self.fleet is not None and isinstance(self.fleet.tree.get("defaults", {}), dict)

    def names(self, kind: str) -> tuple[str, ...]:
        """Every name of one kind that has a file, broken or not."""
        return {
            "agent": self.sources.agent_ids,
            "type": self.sources.types,
            "channel": self.sources.channel_ids,
            "template": self.sources.templates,
        }[kind]


def check(home: Home) -> list[Finding]:
    """Every fault between the files."""
    found: list[Finding] = []
    if home.fleet:
        found += _unknown(home, home.fleet, FLEET_REFERENCES)
        found += _shared_accounts(home.fleet)
    found += _shared_logs(home)
    for channel in home.channels.values():
        found += _unknown(home, channel, CHANNEL_REFERENCES)
    for name, agent in home.agents.items():
        found += _unknown(home, agent, AGENT_REFERENCES)
        found += _Agent(home, name, agent).check()
    return found


def texts(
    tree: Tree, pattern: tuple[str, ...], path: TreePath = ()
) -> Iterator[tuple[TreePath, str]]:
    """Each text at a path that fits `pattern`, where * is any entry of a list or mapping."""
    if not pattern:
        if isinstance(tree, str):
            yield path, tree
        return
    part, rest = pattern[0], pattern[1:]
    if part != "*":
        if isinstance(tree, dict) and part in tree:
            yield from texts(tree[part], rest, (*path, part))
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from texts(item, rest, (*path, index))
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from texts(value, rest, (*path, key))


def _unknown(
    home: Home, document: Document, references: tuple[tuple[str, tuple[str, ...]], ...]
) -> Iterator[Finding]:
    for kind, pattern in references:
        names = home.names(kind)
        for path, text in texts(document.tree, pattern):
            if text and text not in names:
                what = f"{dotted(path)}: {_WORDING[kind].format(name=text)}"
                yield Finding("error", document.file, document.line(path), what, known(text, names))


def _shared_logs(home: Home) -> Iterator[Finding]:
    """A log belongs to one channel: no other has its name, and none is a log of fleet's own."""
    for name, document in home.channels.items():
        log = document.tree.get("log")
        if isinstance(log, str) and log in TAKEN["channels"]:
            what, line = f"log: '{log}' is fleet's own", document.line(("log",))
            yield Finding("error", document.file, line, what, "name another, or leave it out")
        for other, of_other in home.channels.items():
            named = of_other.tree.get("log") or other
            if other != name and isinstance(log, str) and log in {other, named}:
                what = f"log: the log {log} belongs to channels/{other}.yaml"
                line = document.line(("log",))
                yield Finding("error", document.file, line, what, "name another, or leave it out")


def _shared_accounts(fleet: Document) -> Iterator[Finding]:
    """An agent belongs to one account; `all` means those that no other account names."""
    owner: dict[str, str] = {}
    accounts = fleet.tree.get("accounts")
    for account, said in accounts.items() if isinstance(accounts, dict) else ():
        if account in RESERVED:
            what = f"accounts: '{account}' is fleet's own"
            line = fleet.line(("accounts", account))
            yield Finding("error", fleet.file, line, what, "name it otherwise")
        path: TreePath = ("accounts", account, "agents")
        listed = said.get("agents") if isinstance(said, dict) else None
        for name in listed if isinstance(listed, list) else [listed]:
            if isinstance(name, str) and owner.setdefault(name, account) != account:
                what = f"{dotted(path)}: {name} belongs to the account '{owner[name]}' already"
                yield Finding("error", fleet.file, fleet.line(path), what, "keep one of them")


class _Agent:
    """The checks of one agent as it is with the fleet's defaults."""

    def __init__(self, home: Home, name: str, document: Document) -> None:
        self.home, self.name, self.document = home, name, document
        self.tree = merged(home.defaults, document.tree)

    def check(self) -> Iterator[Finding]:
        yield from self._itself()
        yield from self._membership()
        yield from self._folder()
        if self.home.knows_defaults:
            yield from self._missing()
            yield from self._wakes()
            yield from self._command()

    def _texts(self, *pattern: str) -> list[tuple[TreePath, str]]:
        return list(texts(self.tree, pattern))

    def _fault(self, path: TreePath, what: str, fix: str) -> Finding:
        """A fault at `path`, in the agent's own file or where the defaults say it."""
        own = path[0] in self.document.tree
        place = self.document if own or not self.home.fleet else self.home.fleet
        line = place.line(path if own else ("defaults", *path))
        who = "" if own else f" for {self.name}"
        return Finding("error", place.file, line, f"{dotted(path)}: {what}{who}", fix)

    def _missing(self) -> Iterator[Finding]:
        for key in ("description", "prompt"):
            if key not in self.tree:
                what = f"'{key}' is missing"
                yield Finding("error", self.document.file, 1, what, f"add {key}: …")

    def _itself(self) -> Iterator[Finding]:
        for path, name in self._texts("collaborators", "*"):
            if name == self.name:
                yield self._fault(path, "an agent is no collaborator of itself", "take it out")

    def _wakes(self) -> Iterator[Finding]:
        interests = {name for _, name in self._texts("interests", "*")}
        for path, name in self._texts("wake_on", "types", "*"):
            if name not in interests and name in self.home.names("type"):
                fix = f"add {name} to interests, or take it out here"
                yield self._fault(path, f"{name} is not among the interests", fix)

    def _membership(self) -> Iterator[Finding]:
        for path, name in self._texts("channels", "*"):
            channel = self.home.channels.get(name)
            members = channel.tree.get("members") if channel else None
            if isinstance(members, list) and self.name not in members:
                fix = f"add it to members in channels/{name}.yaml"
                yield self._fault(path, f"{self.name} is no member of {name}", fix)

    def _command(self) -> Iterator[Finding]:
        launch = self.tree.get("launch") or "claude"
        if launch == "command" and not self.tree.get("command"):
            yield self._fault(("launch",), "there is no command", "add command: [program, …]")
        if launch == "claude" and "command" in self.document.tree:
            fix = "add launch: command, or take the command out"
            yield self._fault(("command",), "launch: claude runs no command", fix)

    def _folder(self) -> Iterator[Finding]:
        written = self.tree.get("cwd")
        if isinstance(written, str) and written:
            fault = folder_fault(self.home.sources.root, written)
            if fault:
                yield self._fault(("cwd",), f"{written!r} {fault}", "choose another folder")


def folder_fault(root: Path, written: str) -> str:
    """Why an agent cannot work in the folder `written`; "" when it can."""
    if os.path.expanduser(written).startswith("~"):  # noqa: PTH111 - never raises
        return "names no user of this machine"
    folder = working_folder(root, written)
    if not written.startswith(("/", "~")) and not folder.is_relative_to(root):
        return "leaves the home: write it absolute if you mean it"
    own = [name for name in _OWN_FOLDERS if folder.is_relative_to(root / name)]
    if own:
        return f"lies in {own[0]}/, which is no place to work in"
    if os.path.lexists(folder) and not os.path.isdir(folder):  # noqa: PTH112
        return "is no folder"
    return ""
