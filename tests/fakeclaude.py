"""A program in the CLI's place: it reads its prompt, does what a test says, and gives a result."""

import json
import sys
from pathlib import Path

from fleets import Scripted

RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 1,
    "result": "did the work",
    "total_cost_usd": 0.01,
}
PROGRAM = """#!{python}
import hashlib, json, os, subprocess, sys, time
from pathlib import Path
prompt = sys.stdin.buffer.read()
flags = dict(zip(sys.argv[1:], sys.argv[2:]))
context = Path(flags["--append-system-prompt-file"]).read_bytes()
result = json.loads({result!r})
{body}
if result:
    print(json.dumps(result), flush=True)
"""


def fake_claude(home: Scripted, body: str = "", *, name: str = "claude") -> Path:
    """Put a CLI into the home that runs `body` (Python) and name it in fleet.yaml.

    `body` sees `prompt`, `context` (bytes), `flags` and `result`, which is printed in the end.
    """
    text = PROGRAM.format(python=sys.executable, result=json.dumps(RESULT), body=body)
    program = home.put(f"bin/{name}", text)
    program.chmod(0o755)
    path = home.root / "fleet.yaml"
    path.write_text(path.read_text() + f"claude: {{path: {program}}}\n")
    return program


def claude_agent(home: Scripted, name: str, *lines: str, schedule: str = "null") -> None:
    """An agent with `launch: claude`; `lines` are more of its YAML, or other values."""
    fields = {
        "description": name,
        "schedule": schedule,
        "prompt": "base.md.j2",
        "interests": "[note]",
        "channels": "[strategy]",
        "start": "all",
        "timeout": "30s",
        "grace": "3s",
        **dict(line.split(": ", 1) for line in lines),
    }
    text = "".join(f"{field}: {value}\n" for field, value in fields.items())
    home.put(f"agents/{name}.yaml", text)
