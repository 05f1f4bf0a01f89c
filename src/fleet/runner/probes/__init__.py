"""Whether a `claude` CLI does what fleet counts on: probes of it against a stub on loopback.

Two runs, planned and kept as every run is, in a folder that is removed afterwards and with a key
that opens nothing. No home is read or written, and no model is asked.
"""

import json
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from fleet.config.model import HomeConfig
from fleet.errors import Finding
from fleet.runner.launchers import claude
from fleet.runner.probes.messages_stub import Asked, MessagesStub, Play, Turn, bash, say
from fleet.runner.probes.trial import Trial
from fleet.text import clip, escape

LIMIT = 30.0  # seconds that a probe's run may take
GRACE = 12.0  # seconds for the run that is stopped: one third until it is sent more than SIGINT
FIX = "name the CLI that worked before in fleet.yaml's claude: path"

LONG = "word " * 60_000 + "end"  # 300 kB
SECRET, PULLED, ADDED, REFUSED = (
    f"probe-{word}-5f1c" for word in ("secret", "pulled", "added", "refused")
)
LIFTED = """fleet --help <<'EOT'\n{"a": "b'c"}\nEOT"""  # the CLI's own rules would refuse it
BLOCKED = "fleet post --help"  # and would let this pass
UNASKED = "touch made"
WAITS = "Wait for a stop.\n"


class Seen(NamedTuple):
    """What the probes look at: a run that did everything, and one that was interrupted."""

    stub: MessagesStub
    whole: Trial
    stopped: Trial

    def of(self, trial: Trial) -> list[Asked]:
        """Every request of that run."""
        return [asked for asked in self.stub.asked if asked.session == trial.id]

    def after(self, turn: int) -> str:
        """What the model was told after its turn of that number, "" when it was not asked again."""
        later = (asked for asked in self.of(self.whole) if asked.turn == turn + 1)
        return next((asked.news() for asked in later), "")

    def told(self) -> str:
        """All that the model was ever told in the first run."""
        return "\n".join(asked.everything() for asked in self.of(self.whole))


def probe(config: HomeConfig, environ: Mapping[str, str]) -> list[Finding]:
    """One note for each claim that holds, one error for each that does not; within a minute.

    Args:
        config: the home's, for the CLI that it names.
        environ: the environment in which agents are launched, for its PATH.
    """
    program = claude.program(config, environ)
    if not Path(program).is_file():
        what = f"there is no {program} to probe"
        fix = "install the CLI, or name it in fleet.yaml's claude: path"
        return [Finding("error", "fleet.yaml", 0, what, fix)]
    began = time.monotonic()
    with ExitStack() as left:
        made = tempfile.TemporaryDirectory(prefix="fleet-probes-", ignore_cleanup_errors=True)
        folder = Path(left.enter_context(made)).resolve()
        seen = _look(Path(program), environ.get("PATH", ""), folder, left)
        found = [*_findings(seen)]
    took = f"the probes of {program} took {time.monotonic() - began:.1f} s"
    return [*found, Finding("note", "", 0, took)]


def _look(program: Path, path: str, folder: Path, left: ExitStack) -> Seen:
    """Both runs, at once, to their end."""
    roots = [folder / name for name in ("whole", "stopped")]
    plays = [Play([say("Too late.", delay=2 * LIMIT)], match=WAITS), Play(_turns(roots[0]))]
    stub = left.enter_context(MessagesStub(plays))
    trials = []
    for root, task in zip(roots, ("Do your work.\n", WAITS), strict=True):
        (root / "state").mkdir(parents=True)
        (root / "state" / "secret").write_text(SECRET)
        (root / "pulled").write_text(PULLED)
        trial = Trial(
            program,
            stub,
            root,
            context=f"# You are a probe\n\n@{root}/pulled\n",
            prompt=task,
            agent="probe",
            environ={"PATH": path, "TMPDIR": str(folder)},
            hooks=_hooks(),
            cwd=root,
            model="claude-haiku-4-5",
            timeout=LIMIT,
            grace=GRACE,
        )
        left.callback(trial.end)
        trials.append(trial)
    seen = Seen(stub, *trials)
    while seen.stopped.keeper.poll() is None and not seen.of(seen.stopped):
        time.sleep(0.05)
    seen.stopped.keeper.terminate()
    for trial in trials:
        trial.wait()
    return seen


def _turns(root: Path) -> list[Turn]:
    """What the model of the first run does; `Seen.after` counts them from 0."""
    read = ("Read", {"file_path": str(root / "state" / "secret")})
    show = ("Bash", {"command": "cat state/secret"})
    return [
        bash(LIFTED),
        bash(BLOCKED),
        bash(UNASKED),
        Turn("I will look.", (read, show)),
        say(LONG),
    ]


def _hooks() -> dict[str, list[object]]:
    """One hook that refuses `BLOCKED`, one that adds a text after every tool."""
    deny = {"permissionDecision": "deny", "permissionDecisionReason": REFUSED}
    refuse = f"if grep -q 'fleet post'; then echo {_said('PreToolUse', deny)}; fi"
    add = f"cat > /dev/null; echo {_said('PostToolUse', {'additionalContext': ADDED})}"
    return {"PreToolUse": [_hook("Bash", refuse)], "PostToolUse": [_hook("*", add)]}


def _said(event: str, answer: dict[str, str]) -> str:
    return shlex.quote(json.dumps({"hookSpecificOutput": {"hookEventName": event} | answer}))


def _hook(matcher: str, command: str) -> object:
    call = {"type": "command", "command": command, "timeout": 5}
    return {"matcher": matcher, "hooks": [call]}


# The probes: each answers "" where its claim holds, else what was found instead -----------------


def _result(seen: Seen) -> str:
    verdict = seen.whole.verdict
    return "" if verdict.outcome.startswith("ok") else f"{verdict.outcome}, {verdict.reason}"


def _numbers(seen: Seen) -> str:
    verdict = seen.whole.verdict
    counts = {"cost": verdict.cost_usd, "tokens": verdict.tokens_in, "turns": verdict.turns}
    missing = [name for name, value in counts.items() if not value]
    return f"it gives no {', '.join(missing)}" if missing else ""


def _whole(seen: Seen) -> str:
    said = str(seen.whole.result().get("result", ""))
    return "" if said == LONG else f"{len(said)} of {len(LONG)} characters are there"


def _tools(seen: Seen) -> str:
    asked = seen.of(seen.whole)
    names = sorted(tool["name"] for one in asked[:1] for tool in one.body["tools"])
    return "" if names == ["Bash", "Read"] else f"offered {', '.join(names) or 'nothing'}"


def _untouched(seen: Seen) -> str:
    if PULLED in seen.told():
        return "the file's content is in the prompt"
    return "" if "/pulled" in seen.told() else "the context did not arrive"


def _lifted(seen: Seen) -> str:
    told = seen.after(0)
    return "" if "Usage: fleet" in told else f"the model was told {_short(told)}"


def _added(seen: Seen) -> str:
    return "" if ADDED in seen.after(0) else "it did not reach the model"


def _blocked(seen: Seen) -> str:
    told = seen.after(1)
    return "" if REFUSED in told else f"the model was told {_short(told)}"


def _unasked(seen: Seen) -> str:
    if (seen.whole.root / "made").exists():
        return "it ran"
    named = f"Bash({UNASKED})" in seen.whole.verdict.denials
    return "" if named else "its result does not name what was denied"


def _secret(seen: Seen) -> str:
    if SECRET in seen.told():
        return "the model read it"
    return "" if seen.after(3) else "the model was not asked after it tried"


def _interrupted(seen: Seen) -> str:
    said = seen.stopped.exit
    if said["ended_by"] != "stopped":
        return f"it had ended by itself: {said['ended_by']}, {seen.stopped.verdict.reason}"
    return f"it took signal {said['signal']} to end it" if said["signal"] in {9, 15} else ""


def _nothing_left(seen: Seen) -> str:
    return "processes live on" if seen.whole.left() | seen.stopped.left() else ""


def _short(told: str) -> str:
    return f"'{escape(clip(' '.join(told.split()), 120))}'" if told else "nothing"


PROBES: tuple[tuple[str, Callable[[Seen], str]], ...] = (
    ("a run ends with a result", _result),
    ("a result says cost, tokens and turns", _numbers),
    ("a result of 300 kB arrives whole", _whole),
    ("--tools limits what is offered", _tools),
    ("@path in a context pulls no file in", _untouched),
    ("fleet's hook lets fleet's calls pass", _lifted),
    ("what a hook adds reaches the model", _added),
    ("what a hook denies does not run", _blocked),
    ("what no rule allows does not run, and is named", _unasked),
    ("the state cannot be read", _secret),
    ("SIGINT ends a run", _interrupted),
    ("nothing is left of a run", _nothing_left),
)


def _findings(seen: Seen) -> Iterator[Finding]:
    for claim, fault in PROBES:
        try:
            said = fault(seen)
        except (subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
            said = f"there is no telling: {type(error).__name__} {error}"
        if said:
            yield Finding("error", "", 0, f"CLI probe failed, {claim}: {said}", FIX)
        else:
            yield Finding("note", "", 0, f"CLI probe ok, {claim}")
