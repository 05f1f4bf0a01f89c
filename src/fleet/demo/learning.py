"""What the stand-in keeps from run to run: at most one change of its memory a run, by its dice.

It stands for what a model would learn, and shows how a memory grows; none of it is advice.
"""

from fleet.demo.prompt import Event
from fleet.demo.turn import Turn

GOAL = "finish my list with nothing done twice"
PLAN = "first what others wait for, then the next of my list"
NOTES = ("it holds", "slower than I thought", "nobody waited for me this time")
VERDICTS = (
    "was worth acting on at once",
    "needed a second source before I could act",
    "led nowhere, the next one can wait",
    "was already answered by a colleague",
)
CATEGORIES = ("success", "failure", "observation", "improvement")
IMPORTANCES = ("low", "low", "medium", "medium", "medium", "high")


def learn(turn: Turn) -> None:
    """A goal and a plan first, then by the dice a lesson, a note, or something found out."""
    kept = turn.prompt.memory
    if not turn.prompt.events:
        return  # nothing happened that one could learn from
    event = turn.prompt.events[-1]
    if "G" not in kept:
        turn.fleet("goal", "add", GOAL)
    elif "P" not in kept:
        turn.fleet("memory", "plan", "add", PLAN)
    else:
        (_note, _lesson, _lesson, _lesson, _finding, _progress)[turn.dice(event.ref, 6)](
            turn, event
        )


def _lesson(turn: Turn, event: Event) -> None:
    subject = next(iter(event.fields.values()), event.type)
    text = f"{event.type} by {event.sender} ({subject}) {turn.choice(VERDICTS, event.ref)}"
    category = turn.choice(CATEGORIES, event.ref)
    importance = turn.choice(IMPORTANCES, f"{event.ref} importance")
    turn.fleet("lesson", "add", text, "--category", category, "--importance", importance)


def _finding(turn: Turn, event: Event) -> None:
    text = f"{event.sender} is the one to ask about {event.type}, as {event.ref} shows"
    turn.fleet("research", "add", text, "--source", event.ref)


def _note(turn: Turn, event: Event) -> None:
    note = f"{turn.choice(NOTES, event.ref)} (up to {event.ref})"
    turn.fleet("memory", "plan", "note", turn.prompt.memory["P"], note)


def _progress(turn: Turn, event: Event) -> None:
    turn.fleet("goal", "progress", turn.prompt.memory["G"], f"everything up to {event.ref} is seen")
