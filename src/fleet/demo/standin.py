"""A stand-in for an agent: no model, a fixed repertoire that acts on what its prompt says.

`python -m fleet.demo.standin` gets the prompt on stdin and finds `fleet` on PATH, as any agent of
`launch: command`. It plays whichever of the fifteen agents FLEET_AGENT names; DEMO_SEED
(text, "" by default) orders what it finds outside. Its transcript goes to stdout.
"""

import os
import sys

from fleet.demo.learning import learn
from fleet.demo.prompt import read
from fleet.demo.roles import ROLES
from fleet.demo.turn import Call, Turn, call_program
from fleet.units import counted


def main() -> int:
    """Play one run; 0 when it went through, 1 when fleet refused something it should not refuse."""
    me = os.environ.get("FLEET_AGENT", "")
    if me not in ROLES:
        sys.stderr.write(f"the stand-in plays no '{me}': set FLEET_AGENT to an agent of growth\n")
        return 1
    return play(me, sys.stdin.read(), seed=os.environ.get("DEMO_SEED", ""))


def play(me: str, told: str, *, seed: str, call: Call = call_program) -> int:
    """One run of the agent `me`, which was `told` its context and prompt; 0 or 1 as `main`."""
    prompt = read(me, told)
    turn = Turn(prompt, seed=seed, call=call)
    turn.say(
        f"stand-in for {me} (no model): I read {counted(len(prompt.events), 'event')}"
        f" and {counted(len(prompt.messages), 'message')}"
    )
    turn.answer_those_who_ask()
    turn.take_work_given()
    ROLES[me](turn)
    learn(turn)
    return turn.finish()


if __name__ == "__main__":
    sys.exit(main())
