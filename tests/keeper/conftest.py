"""A keeper with a small shell script as its command: real processes, real files."""

import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keeper.kept import Kept


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Callable[..., Kept]]:
    """`keep("sh script", b"input", …)` starts a keeper; other keywords go into keeper.json."""
    started: list[Kept] = []

    def start(
        script: str,
        *stdin: bytes,
        environ: dict[str, str] | None = None,
        under: Path = tmp_path,
        **order: Any,
    ) -> Kept:
        folder = under / f"run-{len(started)}"
        (folder / "cwd").mkdir(parents=True)
        names = [f"in-{number}.md" for number in range(len(stdin))]
        for name, content in zip(names, stdin, strict=True):
            (folder / name).write_bytes(content)
        said = {
            "run": str(uuid.uuid4()),
            "argv": ["/bin/sh", "-c", script],
            "cwd": str(folder / "cwd"),
            "stdin": names,
            "timeout": 60,
            "idle_timeout": 60,
            "grace": 3,
            **order,
        }
        (folder / "keeper.json").write_text(json.dumps(said))
        kept = Kept(folder, said["run"], {"PATH": os.environ["PATH"], **(environ or {})})
        started.append(kept)
        return kept

    yield start
    for kept in started:
        kept.end()
