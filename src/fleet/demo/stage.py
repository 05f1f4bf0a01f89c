"""The stage of the demo: the growth home copied, its agents played by the stand-in and sped up.

It writes files and starts nothing.
"""

import json
import sys
import time
from math import floor
from pathlib import Path

from fleet import homes

SEED = "1"
ORDER = (
    "competitor-watch",
    "reply-handler",
    "reddit-scout",
    "trend-scout",
    "customer-listener",
    "competitor-gap",
    "outreach",
    "onboarding",
    "retention",
    "marketing-strategist",
    "content-engine",
    "growth-analyst",
    "campaign-manager",
    "orchestrator",
    "win-back",
)  # in which they wake: who finds something before who acts on it
BEGIN = 1.0  # seconds from staging to the first slot
EVERY, EVERY_FAST = 15.0, 6.0  # seconds between two slots of one agent
COLLECTOR = "collector"  # measures what was announced; the growth fleet that ships has none
OFTEN = {"content-engine": 0.1, COLLECTOR: 0.65}  # these wake thrice as often, by turns
METRICS_AFTER = "1s"  # when content-engine's drafts are judged: the demo's days are short
COOLDOWN, COOLDOWN_FAST = "3s", "1s"
KEPT = (
    "description",
    "prompt",
    "cwd",
    "collaborators",
    "interests",
    "channels",
    "context",
    "metrics",
)  # lines of an agent's file that the demo leaves as they are


def stage(target: Path, *, fast: bool, seed: str = SEED) -> None:
    """Write the demo's home into the new or empty folder `target`, ready to run, not paused.

    Raises:
        Usage: `target` is not empty.
        NotAllowed: the system does not let this user write there.
    """
    homes.copy("growth", target)
    config = target / "fleet.yaml"
    text = homes.paused(config.read_text(encoding="utf-8"), yes=False)
    config.write_text(unpaid(text), encoding="utf-8")
    every = EVERY_FAST if fast else EVERY
    begin = time.time() + BEGIN
    add_collector(target)
    for number, agent in enumerate((*ORDER, COLLECTOR)):
        file = target / "agents" / f"{agent}.yaml"
        wait, share = (every / 3, OFTEN[agent]) if agent in OFTEN else (every, number / len(ORDER))
        offset = (begin + share * wait) % wait
        lines = _acted(file.read_text(encoding="utf-8"), wait, offset, fast=fast, seed=seed)
        lines += ["priority: high"] if agent in OFTEN else []
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def unpaid(text: str) -> str:
    """A fleet.yaml without its budget: a stand-in costs nothing and says so to nobody."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("budget:"))


def add_collector(target: Path, *lines: str) -> None:
    """Put into a copy of the growth home an agent that measures; `lines` are more of its file."""
    text = "description: Records what the analytics measured of drafts\nprompt: collector.md.j2"
    file = target / "agents" / f"{COLLECTOR}.yaml"
    file.write_text("\n".join([text, *lines]) + "\n", encoding="utf-8")
    prompt = '{% extends "base.md.j2" %}{% block task %}Measure what is new.{% endblock %}\n'
    (target / "prompts" / f"{COLLECTOR}.md.j2").write_text(prompt, encoding="utf-8")


def _acted(text: str, every: float, offset: float, *, fast: bool, seed: str) -> list[str]:
    """An agent's file with its identity and maps kept, and all that costs or waits replaced."""
    lines = text.splitlines()
    kept = [line for line in lines if line.startswith(tuple(f"{name}:" for name in KEPT))]
    cooldown = COOLDOWN_FAST if fast else COOLDOWN
    cut = floor(100 * offset) / 100  # rounded up it could reach `every`
    return [
        "# Played by a stand-in for the demo: no model, nothing is paid.",
        *kept,
        *(_with_cooldown(line, cooldown) for line in lines if line.startswith("wake_on:")),
        f"schedule: {{every: {every:g}s, offset: {cut:.2f}s}}",
        "launch: command",
        f"command: {json.dumps([sys.executable, '-m', 'fleet.demo.standin'])}",
        f"env: {{set: {{DEMO_SEED: {json.dumps(seed)}}}}}",
        f"metrics_after: {METRICS_AFTER}",
        "timeout: 30s",
        "start: all",
    ]


def _with_cooldown(line: str, cooldown: str) -> str:
    head, _, rest = line.partition("cooldown: ")
    return f"{head}cooldown: {cooldown}{rest[rest.index('}') :]}" if rest else line
