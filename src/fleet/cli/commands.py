"""The table of every command: its module, its half, and the line that `fleet --help` shows.

Data only, so that help and a wrong word import no command. A command `a` of module `m` is the
object `a_command` of `fleet.cli.m`.
"""

from typing import NamedTuple


class Entry(NamedTuple):
    """One command: module in `fleet.cli`, heading in the help, one line of help."""

    module: str
    heading: str
    line: str


TALK, FACTS, CLAIMS, SELF = "Talk", "Events and records", "Claims", "Yourself"
HOME, RUNNER, HISTORY, CARE = "Home", "Running", "History", "Care"
PINS, TRAITS = "Keep a message in sight, or no longer", "What you are good and bad at: add, drop"
OPERATOR_HEADINGS = (HOME, RUNNER, HISTORY, CARE)

COMMANDS = {
    "post": Entry("talk", TALK, "Add a message to a channel"),
    "reply": Entry("talk", TALK, "Answer a message, in its channel"),
    "read": Entry("talk", TALK, "Messages of a channel"),
    "react": Entry("talk", TALK, "agree | disagree | important"),
    "pin": Entry("talk", TALK, PINS),
    "unpin": Entry("talk", TALK, PINS),
    "channels": Entry("talk", TALK, "Channels you may read and post to"),
    "send": Entry("direct", TALK, "Write to one agent, or to operator"),
    "inbox": Entry("direct", TALK, "Direct messages to you"),
    "ask": Entry("ask", TALK, "Ask a person; the answer wakes you"),
    "agents": Entry("team", TALK, "Who is there, and who can do what"),
    "emit": Entry("bus", FACTS, "Append a fact that others act on"),
    "events": Entry("bus", FACTS, "Facts, newest last"),
    "ack": Entry("bus", FACTS, "Consume only these events if this run succeeds"),
    "metric": Entry("metric", FACTS, "Numbers of what was made: record, show"),
    "schema": Entry("schema", FACTS, "Types of events and their fields: list, show TYPE"),
    "show": Entry("audit", FACTS, "Any record or run, whole"),
    "find": Entry("audit", FACTS, "Records that hold a text, newest first"),
    "claim": Entry("claims", CLAIMS, "Take the exclusive right to a key"),
    "renew": Entry("claims", CLAIMS, "Hold it longer"),
    "release": Entry("claims", CLAIMS, "Give it back"),
    "claims": Entry("claims", CLAIMS, "Who holds what"),
    "remind": Entry("ask", SELF, "Note something for yourself, told when it is due"),
    "report": Entry("report", SELF, "Say what this run did, or that there was nothing to do"),
    "whoami": Entry("report", SELF, "Your name, run, hive and home"),
    "memory": Entry("memory", SELF, "What you keep from run to run: show, plan"),
    "lesson": Entry("learning", SELF, "What you learned about your work: add, drop"),
    "goal": Entry("learning", SELF, "add, progress, achieve, abandon"),
    "research": Entry("learning", SELF, "What you found out, and where: add, drop"),
    "strength": Entry("learning", SELF, TRAITS),
    "weakness": Entry("learning", SELF, TRAITS),
    "init": Entry("home", HOME, "Make a home, paused"),
    "check": Entry("home", HOME, "Every fault of the home's files at once"),
    "agent": Entry("roster", HOME, "Add, change, rename or retire an agent"),
    "channel": Entry("roster", HOME, "Add, change, rename or retire a channel"),
    "doctor": Entry("home", HOME, "Is this machine fit: locks, disk, clock, CLI"),
    "demo": Entry("home", HOME, "The growth fleet in a temporary home, sped up"),
    "version": Entry("home", HOME, "Versions of program, state and JSON"),
    "up": Entry("runner", RUNNER, "Run the agents on their schedules, in the foreground"),
    "stop": Entry("runner", RUNNER, "Stop the runner and what runs"),
    "status": Entry("runner", RUNNER, "Agents, runs, claims, lag and alerts"),
    "alerts": Entry("alerts", RUNNER, "What needs a person; ack REF when it is seen to"),
    "next": Entry("runner", RUNNER, "Slots that come due"),
    "forecast": Entry("forecast", RUNNER, "Wakes, cost and crowds to come, and what would do"),
    "run": Entry("runner", RUNNER, "Run one agent now"),
    "pause": Entry("runner", RUNNER, "Nothing starts by schedule or wake"),
    "resume": Entry("runner", RUNNER, "Take a pause or a halt back"),
    "halt": Entry("runner", RUNNER, "Pause, and stop what runs"),
    "runs": Entry("history", HISTORY, "Runs, newest first"),
    "logs": Entry("history", HISTORY, "What a run printed"),
    "replay": Entry("replay", HISTORY, "Build a run's prompt again, byte for byte"),
    "diff": Entry("replay", HISTORY, "Why two runs were not the same"),
    "seen": Entry("past", HISTORY, "Which runs were shown a record"),
    "explain": Entry("past", HISTORY, "What a run, or a record's author, had been told"),
    "timeline": Entry("past", HISTORY, "All that happened, in the order of time"),
    "recap": Entry("recap", HISTORY, "What results of one type have cost"),
    "context": Entry("history", HISTORY, "What an agent would be told now"),
    "retract": Entry("retract", HISTORY, "Take back what a run wrote, or one record"),
    "answer": Entry("ask", CARE, "Answer an agent's question, or list those that wait"),
    "deadletters": Entry("deadletters", CARE, "Events that were set aside: list, retry"),
    "shadow": Entry("shadow", CARE, "What agents in shadow mode would have written"),
    "skip": Entry("care", CARE, "Move an agent past events it need not see"),
    "verify": Entry("care", CARE, "Read everything and name each damaged record"),
    "reindex": Entry("care", CARE, "Drop every cache and compute it again"),
    "trim": Entry("trim", CARE, "Sizes of the logs; move old records to the archive, packed"),
    "backup": Entry("copies", CARE, "The whole home in one file, while everything runs"),
    "restore": Entry("copies", CARE, "Unpack a backup into a new folder"),
    "install-service": Entry("service", CARE, "Have fleet up started at every boot"),
    "migrate": Entry("copies", CARE, "Bring the state of an older version to this one's format"),
}

TOGETHER = {"unpin": "pin", "weakness": "strength"}
"""Commands that share a line of the help with another one, which is the first of the two."""

ALIASES = {
    "dm": "send",
    "message": "send",
    "unclaim": "release",
    "unlock": "release",
    "lock": "claim",
    "done": "report",
    "search": "find",
    "kill": "halt",
}
"""Words people and models type instead; they work and are shown nowhere."""

LATER = {
    **dict.fromkeys(("know", "query"), "fleet find TEXT looks through what the team wrote"),
    **dict.fromkeys(
        (
            "capability", "dash", "graph",
            "hooks", "import", "map", "mcp", "mesh",
        ),
        "",
    ),
}  # fmt: skip
"""Commands that this version does not have, and what an agent can say instead."""

LATER_OPTIONS = {
    "up": ("--dash",),
}
"""Options that this version does not have, by command."""

BEFORE = ("--home", "--as", "--debug")
"""Options that stand before the command."""

PEOPLES = frozenset({"memory revert"})
"""Commands of operators under a word of the agents' half."""

INSTEAD = {
    "answer": "fleet reply REF TEXT answers a message",
    **dict.fromkeys(("agent", "status"), "fleet agents shows who is there"),
    "channel": "fleet channels shows yours",
    **dict.fromkeys(("retract", "memory revert"), "fleet send operator TEXT asks a person to"),
    **dict.fromkeys(("explain", "logs", "runs", "seen", "timeline"), "fleet find TEXT looks it up"),
}
"""What a run can say instead of an operators' command."""

TOLERANT = frozenset(
    {
        "agent", "agents", "alerts", "backup", "channel", "channels", "claims", "context",
        "deadletters list", "diff", "doctor", "events", "explain", "find", "forecast", "halt",
        "inbox", "logs", "memory show", "metric show", "next", "pause", "read", "recap", "replay",
        "resume", "runs", "schema", "seen", "shadow list", "show", "status", "stop", "timeline",
        "verify", "whoami",
    }
)  # fmt: skip
"""What a person may call while the home's files are broken: it shows, stops or mends something.

The last good config stands and a warning says so; whatever writes as a person or starts something
is exit 7. A run goes on with the last good config in everything.
"""


def is_operators(name: str) -> bool:
    """Whether only a person may call the command of that name: `halt`, `memory revert`."""
    return name in PEOPLES or COMMANDS[name.partition(" ")[0]].heading in OPERATOR_HEADINGS
