"""The hot path stays light: what the commands of a run, and the hook, may load."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "pydantic", "pydantic_core", "jsonschema", "fastjsonschema", "ruamel", "filelock",
    "portalocker", "jinja2", "apscheduler", "cronsim", "textual", "numpy", "asyncio", "difflib",
    "hashlib", "subprocess", "http", "email", "logging", "tempfile", "zoneinfo",
    "fractions", "decimal", "random", "ssl", "yaml", "unittest", "multiprocessing",
}  # fmt: skip
CALL = (
    "import os, sys; from fleet.__main__ import main\n"
    "sys.argv, os._exit = ['fleet', *sys.argv[1:]], sys.exit\n"
    "try:\n    main()\n"
    "finally:\n    print('\\n'.join(sorted(sys.modules)), file=open(sys.argv.pop(), 'w'))\n"
)
WORDS = {
    "help": ["--help"],
    "post": ["post", "strategy", "hi"],
    "reply": ["reply", "strategy#1", "hi"],
    "emit": ["emit", "pricing-change", "competitor=a", "newPrice=b"],
    "emit with a claim": ["emit", "contact-made", "email=a@b.example", "method=mail"],
    "claim": ["claim", "lead:a"],
    "lesson": ["lesson", "add", "short subject lines win"],
}


def loaded(words: list[str], report: Path) -> set[str]:
    """The modules that one call of the command line has loaded at its end."""
    code = CALL.replace("sys.argv.pop()", repr(str(report)))
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)
    return set(report.read_text().split())


def roots(modules: set[str]) -> set[str]:
    """The packages that modules belong to."""
    return {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("caller", ["run", "person"])
def test_a_write_loads_click_and_fleet_only(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, caller: str
) -> None:
    """Once the caches are warm, a write loads click, fleet and the light standard library."""
    from fleet.identity import issue_token
    from fleet.wiring import open_fleet

    run = "019b2e00-0000-7000-8000-000000000001"
    if caller == "run":
        token = issue_token(open_fleet(home, env={}).store, run, "outreach", "", 600.0, 0)
        monkeypatch.setenv("FLEET_RUN_ID", run)
        monkeypatch.setenv("FLEET_RUN_TOKEN", token)
    loaded(["post", "strategy", "warm"], tmp_path / "modules")
    who = ["--as", "outreach"] if (name, caller) == ("lesson", "person") else []
    for _ in range(2):
        modules = loaded([*who, *WORDS[name]], tmp_path / "modules")

    foreign = roots(modules) - set(sys.stdlib_module_names) - {"__main__"}

    assert {part for part in foreign if not part.startswith(("_distutils", "_virtualenv"))} <= {
        "click", "fleet", *EDITABLE,
    }  # fmt: skip
    assert not roots(modules) & HEAVY
    assert name == "help" or "locale" not in modules  # click's headings ask gettext


EDITABLE = {name for name in sys.modules if name.startswith(("_editable", "__editable__"))}


def test_help_loads_no_command(home: Path, tmp_path: Path) -> None:
    """`fleet --help` needs the table only: no command's module, no config, no store."""
    modules = loaded(["--help"], tmp_path / "modules")

    assert {name for name in modules if name.startswith("fleet")} <= {
        "fleet", "fleet.__main__", "fleet.cli", "fleet.cli.app", "fleet.cli.commands",
        "fleet.cli.grammar", "fleet.cli.output", "fleet.cli.session", "fleet.errors",
        "fleet.places", "fleet.strictjson", "fleet.text",
    }  # fmt: skip


def test_the_hook_loads_the_standard_library_and_text(tmp_path: Path) -> None:
    """The hook is a program of its own: of fleet it loads `text` at most."""
    code = (
        f"import sys, fleet.hook; open({str(tmp_path / 'm')!r}, 'w').write(' '.join(sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    modules = set((tmp_path / "m").read_text().split())

    assert {name for name in modules if name.startswith("fleet")} <= {
        "fleet", "fleet.hook", "fleet.text",
    }  # fmt: skip
    assert not roots(modules) & (HEAVY | {"click"})
