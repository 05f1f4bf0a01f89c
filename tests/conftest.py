"""What every test stands on: a world without the developer's own home, and a small valid one."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

import warm

Write = Callable[[str, str], Path]
Fleet = Callable[..., "subprocess.CompletedProcess[str]"]

HOME = {
    "fleet.yaml": "name: test\ntimezone: Europe/Berlin\npaused: false\nlimits: {min_free: 1MiB}\n",
    "agents/outreach.yaml": (
        "description: Writes first-touch e-mails\n"
        'schedule: "0 */2 * * *"\n'
        "prompt: outreach.md.j2\n"
        "collaborators: [reply-handler]\n"
        "interests: [reply-received, pricing-change]\n"
        "channels: [strategy, outreach-review]\n"
        "start: all\n"
    ),
    "agents/reply-handler.yaml": (
        "description: Answers replies\n"
        "schedule: {every: 1h}\n"
        "prompt: reply-handler.md.j2\n"
        "collaborators: [outreach]\n"
        "interests: [contact-made]\n"
        "channels: [strategy, outreach-review]\n"
        "start: all\n"
    ),
    "agents/competitor-watch.yaml": (
        "description: Watches competitors\n"
        'schedule: "30 7 * * *"\n'
        "prompt: competitor-watch.md.j2\n"
        "channels: [strategy]\n"
        "start: all\n"
    ),
    "channels/strategy.yaml": "name: Strategy\npurpose: Priorities\nmembers: all\n",
    "channels/outreach-review.yaml": (
        "name: Outreach Review\npurpose: Review outreach\nmembers: [outreach, reply-handler]\n"
    ),
    "schemas/contact-made.json": (
        '{"$schema": "http://json-schema.org/draft-07/schema#", "title": "contact-made",'
        ' "description": "Agent contacted a lead", "type": "object",'
        ' "required": ["email", "method"],'
        ' "properties": {"email": {"type": "string"}, "method": {"type": "string"}},'
        ' "additionalProperties": true, "x-claim": "lead:{email}"}\n'
    ),
    "schemas/reply-received.json": (
        '{"$schema": "http://json-schema.org/draft-07/schema#", "title": "reply-received",'
        ' "description": "A lead answered", "type": "object",'
        ' "required": ["email", "classification"],'
        ' "properties": {"email": {"type": "string"}, "classification": {"type": "string"}},'
        ' "additionalProperties": true}\n'
    ),
    "schemas/pricing-change.json": (
        '{"$schema": "http://json-schema.org/draft-07/schema#", "title": "pricing-change",'
        ' "description": "A competitor changed a price", "type": "object",'
        ' "required": ["competitor", "newPrice"],'
        ' "properties": {"competitor": {"type": "string"}, "newPrice": {"type": "string"},'
        ' "score": {"type": "number"}}, "additionalProperties": true}\n'
    ),
    "schemas/task-created.json": (
        '{"$schema": "http://json-schema.org/draft-07/schema#", "title": "task-created",'
        ' "description": "A task for one agent", "type": "object",'
        ' "required": ["taskId", "assignedTo", "title"],'
        ' "properties": {"taskId": {"type": "string"}, "assignedTo": {"type": "string"},'
        ' "title": {"type": "string"}}, "additionalProperties": true,'
        ' "x-to": "{assignedTo}"}\n'
    ),
    "prompts/base.md.j2": (
        "{% block context %}{{ you }}\n{{ awareness }}\n{{ corrections }}\n{{ events }}\n"
        "{{ channels }}\n{{ how_to }}\n{% endblock %}{% block task %}Work.{% endblock %}\n"
    ),
    **{
        f"prompts/{agent}.md.j2": (
            '{% extends "base.md.j2" %}{% block task %}Do the work of '
            + agent
            + ".{% endblock %}\n"
        )
        for agent in ("outreach", "reply-handler", "competitor-watch")
    },
}
"""The files of the `home` fixture by their path: three agents, two channels, four types."""


@pytest.fixture(autouse=True)
def _own_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's home, runs or keys."""
    empty = tmp_path_factory.mktemp("user")
    for name in list(os.environ):
        if name.startswith(("FLEET_", "ANTHROPIC_", "CLAUDE")) and name != "FLEET_TEST_CLAUDE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(empty))
    monkeypatch.setenv("FLEET_HOME", str(empty / "no-fleet-here"))


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c_works() -> None:
    """A shell's background job inherits Ctrl-C ignored, and so would every process of a test."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write("agents/a.yaml", text)` puts a file under `tmp_path/home` and returns its path."""

    def put(name: str, text: str) -> Path:
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return put


@pytest.fixture
def home(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small valid home (see `HOME`), and `FLEET_HOME` points to it."""
    for name, text in HOME.items():
        write(name, text)
    root = tmp_path / "home"
    monkeypatch.setenv("FLEET_HOME", str(root))
    return root


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """`fleet("post", "strategy", "hi")` runs the real command line in a process of its own.

    Keywords: `stdin` text or bytes, `env` names to set (None removes), `cwd`. Output is UTF-8
    text with every byte kept (surrogateescape).
    """

    def call(
        *argv: str | bytes,
        stdin: str | bytes = b"",
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return run_fleet(argv, stdin=stdin, env=env, cwd=cwd or tmp_path)

    return call


def run_fleet(
    argv: Sequence[str | bytes],
    *,
    stdin: str | bytes = b"",
    env: Mapping[str, str | None] | None = None,
    cwd: Path,
) -> subprocess.CompletedProcess[str]:
    """One command of the real command line, with warnings as errors and a minute to end."""
    changed = {"PYTHONWARNINGS": "error", **(env or {})}
    full = {**os.environ, **changed}
    done = warm.run(
        argv,
        env={name: value for name, value in full.items() if value is not None},
        cwd=cwd,
        stdin=stdin.encode() if isinstance(stdin, str) else stdin,
    )
    out, err = (part.decode("utf-8", "surrogateescape") for part in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)
