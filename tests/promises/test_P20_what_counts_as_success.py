"""P20: success requires a result, exit 0 and work done, in real runs of real processes."""

import json
from dataclasses import dataclass
from pathlib import Path

from fleets import Scripted

RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 2,
    "result": "Mailed 4 leads.",
    "total_cost_usd": 0.25,
    "permission_denials": [],
}
DENIED = {"permission_denials": [{"tool_name": "Bash", "tool_input": {"command": "rm -rf x"}}]}
LIMIT = {"result": "You've hit your session limit · resets 4:20am (Europe/Warsaw)"}
LOGIN = {"result": "Not logged in · Please run /login"}
ERROR = {"is_error": True}
EXPECTS = "expects: {any_of: [{event: note}]}"
EMITS = "fleet emit note n=1 > /dev/null"


@dataclass(frozen=True)
class Case:
    """What the CLI does in a run, and what must come of it."""

    outcome: str
    code: int
    consumes: bool
    shell: str = ""
    result: dict[str, object] | None = None
    line: str = ""
    exit_code: int = 0


def said(*changes: dict[str, object]) -> dict[str, object]:
    """A result line with changes."""
    whole: dict[str, object] = dict(RESULT)
    for change in changes:
        whole |= change
    return whole


CLAUDE = {
    "ok": Case("ok", 0, True, result=said()),
    "ok-with-work": Case("ok", 0, True, EMITS, said(), EXPECTS),
    "ok-idle": Case("ok", 0, True, "fleet report --idle nothing", said(), EXPECTS),
    "no-work": Case("incomplete", 8, False, "", said(), EXPECTS),
    "no-result": Case("crashed", 8, False),
    "bad-exit": Case("crashed", 8, False, result=said(), exit_code=1),
    "signal": Case("crashed", 8, False, "kill -9 $$", said()),
    "silent": Case("empty", 8, False, result=said({"result": ""})),
    "turns": Case("max_turns", 8, False, "", said({"subtype": "error_max_turns"}, ERROR), "", 1),
    "denied": Case("ok_with_denials", 8, False, result=said(DENIED)),
    "denied-but-done": Case("ok_with_denials", 0, True, EMITS, said(DENIED), EXPECTS),
    "denied-but-said": Case("ok_with_denials", 0, True, "fleet report did", said(DENIED)),
    "limit": Case("rate_limited", 8, False, result=said(LIMIT)),
    "limit-error": Case("rate_limited", 8, False, "", said(LIMIT, ERROR), "", 1),
    "login": Case("auth", 8, False, result=said(LOGIN)),
    "overloaded": Case(
        "overloaded", 8, False, "", said({"api_error_status": 529, "result": "x"}, ERROR), "", 1
    ),
}
NOT_ITS_FAULT = {"rate_limited", "auth", "overloaded"}


def program(folder: Path, name: str, case: Case) -> str:
    """A `claude` for one agent: prints what the real one prints, and ends as it does."""
    result = json.dumps(case.result) if case.result else ""
    return "\n".join(
        [
            f"{name})",
            'echo \'{"type":"system","subtype":"init"}\'',
            f"({case.shell or 'true'}) > /dev/null" if "kill" not in case.shell else case.shell,
            f"cat '{folder / name}'" if result else "true",
            f"exit {case.exit_code};;",
        ]
    )


def played(tmp_path: Path) -> Scripted:
    """A home whose agents are the cases of `CLAUDE`."""
    script = tmp_path / "claude"
    home = Scripted(
        tmp_path / "home", concurrency=len(CLAUDE), extra=f"claude: {{path: {script}}}\n"
    )
    arms = []
    for name, case in CLAUDE.items():
        arms.append(program(tmp_path, name, case))
        (tmp_path / name).write_text(json.dumps(case.result) + "\n" if case.result else "")
        home.put(
            f"agents/{name}.yaml",
            f"description: x\nschedule: null\nprompt: base.md.j2\ninterests: [note]\nstart: all\n"
            f"{case.line}\n",
        )
    script.write_text(
        "#!/bin/sh\ncat > /dev/null\ncase $FLEET_AGENT in\n" + "\n".join(arms) + "\nesac\n"
    )
    script.chmod(0o700)
    return home


def test_every_way_to_end_has_its_outcome_exit_code_and_consequence(tmp_path: Path) -> None:
    """16 runs of a `claude` that a script plays: outcome, exit, cost, what is consumed, shown."""
    home = played(tmp_path)
    ref = home.call("emit", "note", "n=0").stdout.strip()
    answers = home.together(*(["run", name, "--json"] for name in CLAUDE))
    calls = dict(zip(CLAUDE, answers, strict=True))

    fleet = home.fleet
    for name, case in CLAUDE.items():
        (run,) = home.runs(name)
        assert (run.outcome, calls[name].returncode) == (case.outcome, case.code), calls[name]
        assert json.loads(calls[name].stdout)["outcome"] == case.outcome
        assert ref in run.delivered
        assert bool(run.advance) == case.consumes, name
        assert (fleet.bus.lag(name, run.advance) == 0) <= case.consumes
        assert run.cost_usd == (0.25 if case.result and "kill" not in case.shell else None)
        attempts = fleet.runs.attempts(name)
        own_fault = not case.consumes and case.outcome not in NOT_ITS_FAULT
        assert (attempts.get(1, 0) == 1) == own_fault, name
        if case.result and case.result["permission_denials"]:
            assert run.denials == ("Bash(rm -rf x)",)
            shown = home.call("runs", name).stdout + home.call("runs", name, "--json").stdout
            assert "rm -rf x" in shown


def test_other_commands_need_an_exit_of_0_and_a_word(tmp_path: Path) -> None:
    """`launch: command`: printing and leaving well is ok, nothing less is."""
    home = Scripted(tmp_path / "home", concurrency=6)
    cases = {
        "ok": ("echo done", "ok", 0),
        "silent": ("true", "empty", 8),
        "failing": ("echo done; exit 1", "crashed", 8),
        "killed": ("echo done; kill -TERM $$", "crashed", 8),
        "limited": ('echo "You\'ve hit your session limit"', "rate_limited", 8),
        "missing": ("", "launch_failed", 8),
    }
    for name, (script, _, _) in cases.items():
        lines = ('command: ["/no/such/program"]',) if name == "missing" else ()
        home.agent(name, f"cat > /dev/null; {script}", *lines)
    calls = {name: home.start("run", name) for name in cases}
    codes = {name: call.wait(90) for name, call in calls.items()}

    found = {name: (home.runs(name)[0].outcome, codes[name]) for name in cases}
    assert found == {name: (outcome, code) for name, (_, outcome, code) in cases.items()}
