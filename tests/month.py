"""Weeks of the growth fleet in minutes: its real schedules, contexts, commands and records.

Faked are the clock, the model (the demo's stand-in plays every agent) and the process: what a
keeper would start is played in this process, with the run's own token in its environment.
"""

import contextlib
import heapq
import io
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock
from zoneinfo import ZoneInfo

from fleet import homes
from fleet.cli import app
from fleet.demo import stage, standin, world
from fleet.demo.world import Sight
from fleet.records import new_id, rfc3339
from fleet.runner import launch, settle
from fleet.runner.launchers import Plan
from fleet.runner.slots import slot_name
from fleet.runs import Run
from fleet.status import next_due
from fleet.wiring import Fleet, open_fleet

BEGIN = datetime(2027, 1, 4, 0, 0, tzinfo=UTC)  # a Monday
DAY = timedelta(days=1)
RUN_TAKES = 60.0  # simulated seconds from a run's launch to its end


class Month:
    """The growth fleet under a clock of its own; `play` lets days pass, `runs` is what came of it.

    The same seed makes the same history, but for ids and tokens.
    """

    def __init__(self, root: Path, seed: str = "1") -> None:
        self.root = root
        self.seed = seed
        self.now = BEGIN.timestamp()
        self.runs: list[Run] = []
        self._uptime = 1000.0 - self.now
        self._outside = _outside(seed)
        homes.copy("growth", root)
        stage.add_collector(root, 'schedule: "50 5 * * *"')
        config = root / "fleet.yaml"
        text = stage.unpaid(homes.paused(config.read_text(encoding="utf-8"), yes=False))
        config.write_text(f"{text}limits: {{min_free: 1MiB}}\n" if "limits:" not in text else text)
        for file in sorted((root / "agents").glob("*.yaml")):
            file.write_text(_played(file.read_text(encoding="utf-8"), seed), encoding="utf-8")
        self.fleet = self._opened()
        self._due = [
            (due, agent.id)
            for agent in self.fleet.config.agents.values()
            if (due := next_due(agent, self._zone, BEGIN))
        ]
        heapq.heapify(self._due)

    @property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.fleet.config.timezone)

    def play(self, days: float) -> list[Run]:
        """Let so many days pass; the runs of that time, in order."""
        end = datetime.fromtimestamp(self.now, UTC) + days * DAY
        before = len(self.runs)
        with self.clock():
            while self._due[0][0] <= end:
                due, name = heapq.heappop(self._due)
                self.now = max(self.now, due.timestamp())
                self.runs.append(self.run(name, due))
                following = next_due(self.fleet.config.agents[name], self._zone, due)
                if following:
                    heapq.heappush(self._due, (following, name))
        self.now = max(self.now, end.timestamp())
        return self.runs[before:]

    def run(self, name: str, due: datetime) -> Run:
        """One run of an agent, to its end; the clock of `clock` must be in force."""
        agent = self.fleet.config.agents[name]
        run = new_id(self.now)
        launch.reserve(self.fleet, agent, run)
        launch.start(self.fleet, agent, run, slot=slot_name(due))
        return settle.settle(self.fleet, name, run)

    @contextlib.contextmanager
    def clock(self) -> Iterator[None]:
        """Everything in this process reads the month's clock, and plays instead of launching."""
        with (
            mock.patch.object(time, "time", self._wall),
            mock.patch.object(time, "clock_gettime", self._since_boot),
            mock.patch.object(os, "fdatasync"),  # no power is cut in a month that takes minutes
            mock.patch.object(os, "fsync"),
            mock.patch.object(launch, "_spawn", self._play_run),
            mock.patch.multiple(world, **self._outside),
        ):
            yield

    def call(self, *argv: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
        """One `fleet` command in this process: exit code, standard output and error."""
        out, err = io.StringIO(), io.StringIO()
        environment = {"PATH": os.environ["PATH"], "FLEET_HOME": str(self.root)} | (env or {})
        with (
            mock.patch.dict(os.environ, environment, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = app.run(argv)
        return code, out.getvalue(), err.getvalue()

    def _wall(self) -> float:
        return self.now

    def _since_boot(self, _clock: int) -> float:
        return self.now + self._uptime

    def _opened(self) -> Fleet:
        return open_fleet(self.root, env={"PATH": os.environ["PATH"]})

    def _play_run(self, folder: Path, made: Plan) -> None:
        """What a keeper does with its order, the command replaced by the stand-in."""
        began = self.now
        prompt = "".join((folder / name).read_text(encoding="utf-8") for name in made.stdin)
        said = io.StringIO()
        here = Path.cwd()
        os.chdir(made.cwd)
        try:
            with (
                contextlib.redirect_stdout(said),
                mock.patch.dict(os.environ, made.env, clear=True),
            ):
                code = standin.play(
                    made.env["FLEET_AGENT"], prompt, seed=self.seed, call=self._call_in_a_run
                )
        finally:
            os.chdir(here)
        self.now += RUN_TAKES
        (folder / "stdout.jsonl").write_text(said.getvalue(), encoding="utf-8")
        (folder / "stderr.log").write_text("", encoding="utf-8")
        ended = {
            "run": folder.name, "pid": os.getpid(), "started": rfc3339(began),
            "ended": rfc3339(self.now), "returncode": code, "signal": None, "ended_by": "exit",
            "reason": "", "result_seen": False, "truncated": False, "swept": 0,
        }  # fmt: skip
        (folder / "exit.json").write_text(json.dumps(ended))

    def _call_in_a_run(self, words: Sequence[str]) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = app.run(words)
        return code, out.getvalue()


def _played(text: str, seed: str) -> str:
    """An agent's file with its schedule, identity and maps, played by the stand-in."""
    kept = (*stage.KEPT, "schedule", "wake_on", "metrics", "team")
    lines = [line for line in text.splitlines() if line.startswith(tuple(f"{k}:" for k in kept))]
    command = json.dumps([sys.executable, "-m", "fleet.demo.standin"])
    more = [
        "launch: command", f"command: {command}",
        f"env: {{set: {{DEMO_SEED: {json.dumps(seed)}}}}}", "start: all",
    ]  # fmt: skip
    return "\n".join([*lines, *more]) + "\n"


def _outside(seed: str) -> dict[str, tuple[object, ...]]:
    """What there is to see in a month: made up like the demo's own, and enough for every run."""
    dice = random.Random(seed)
    names = ("Cursor", "Lumen", "Northwind", "Tern", "Quill", "Harbor")
    words = ("invites", "imports", "seats", "exports", "rules", "reviews", "prices", "logins")

    def price(number: int) -> Sight:
        who, old = dice.choice(names), dice.randrange(10, 60)
        fields = {
            "competitor": who, "oldPrice": f"${old}", "newPrice": f"${dice.randrange(10, 60)}",
            "source": f"https://{who.lower()}.example/pricing/{number}",
        }  # fmt: skip
        return Sight("pricing-change", fields, f"{who} moved its price from ${old} ({number}).")

    def voice(number: int) -> Sight:
        summary = f"{dice.randrange(2, 40)} teams ask about {dice.choice(words)} ({number})"
        fields = {"summary": summary, "source": f"themes.md#{number}", "platform": "support"}
        return Sight("customer-intel", fields, f"{summary}. onboarding: a shorter way?")

    def thread(number: int) -> Sight:
        fields = {
            "summary": f"a thread on {dice.choice(words)} ({number})",
            "source": f"https://reddit.example/{number}", "credibility": "medium",
            "score": str(dice.randrange(1, 900)),
        }  # fmt: skip
        return Sight("reddit-insight", fields)

    def repository(number: int) -> Sight:
        fields = {
            "repoName": f"{dice.choice(names).lower()}/{dice.choice(words)}-{number}",
            "stars": str(dice.randrange(50, 9000)), "summary": f"about {dice.choice(words)}",
        }  # fmt: skip
        return Sight("github-trend", fields)

    return {
        "LEADS": tuple(f"lead{number}@{dice.choice(words)}.example" for number in range(900)),
        "COMPETITORS": tuple(map(price, range(150))),
        "THREADS": tuple(map(thread, range(200))),
        "REPOSITORIES": tuple(map(repository, range(120))),
        "VOICES": tuple(map(voice, range(150))),
        "USAGE": tuple(map(voice, range(150, 260))),
    }
