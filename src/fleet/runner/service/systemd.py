"""A systemd user unit, as text; nothing is written or asked here.

What systemd does with it is in systemd.service(5) and systemd.kill(5), the quoting in
systemd.syntax(7).
"""

import re
from collections.abc import Mapping
from pathlib import Path

from fleet.runner.service.shape import Service

_HOME = re.compile(r"^# home: (.+)$", re.MULTILINE)
_UNIT = """\
# Written by `fleet install-service`. Say it again when the home moved, when the CLI or this
# program was installed elsewhere, or an agent got a longer grace. What you add belongs into
# `systemctl --user edit {unit}`.
# home: {plain_home}

[Unit]
Description={description}
# A runner that dies again and again stays down: `systemctl --user reset-failed` forgets it.
StartLimitIntervalSec=600
StartLimitBurst=10

[Service]
Type=exec
ExecStart={program} --home {home} up
# A stop comes here, a crash does not: it ends every run, also those of a runner that hangs, and
# returns when nothing is left. Then systemd ends the runner, if there still is one.
ExecStop=-{program} --home {home} stop --wait
TimeoutStopSec={stop_within}
# Each run has a keeper, a process of its own that outlives the runner: after a crash the next
# runner takes the paid work over. So systemd may touch the runner alone. `control-group` and
# `mixed` would kill the keepers before they start the runner again.
KillMode=process
# No secrets here: a login stands in the file that `claude: env_file` of fleet.yaml names.
Environment={path}
UMask=0077
Restart=on-failure
RestartSec=5
# 6: another runner leads this home, or it runs elsewhere. 7: its files have errors. A person
# mends these; trying again does not.
RestartPreventExitStatus=6 7
# One agent that eats the memory does not take the others along.
OOMPolicy=continue

[Install]
WantedBy=default.target
"""


def folder(service: Service, env: Mapping[str, str]) -> Path:
    """Where the user's own units lie."""
    said = env.get("XDG_CONFIG_HOME", "")
    base = Path(said) if said.startswith("/") else service.user / ".config"
    return base / "systemd" / "user"


def file_name(service: Service) -> str:
    """`fleet-growth.service`."""
    return f"fleet-{service.name}.service"


def text(service: Service) -> str:
    """The whole unit."""
    return _UNIT.format(
        unit=file_name(service),
        plain_home=service.home,
        description=f"fleet {service.title} ({service.home})".replace("%", "%%"),
        program=_quoted(service.program),
        home=_quoted(service.home).replace("$", "$$"),
        stop_within=f"{service.stop_within:.0f}",
        path=_quoted(f"PATH={service.path}"),
    )


def commands(path: Path) -> tuple[tuple[str, ...], ...]:
    """Load it, start it now and at every boot, and keep it when the user logs out."""
    return (
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", "--now", path.name),
        ("loginctl", "enable-linger"),
    )


def hint(service: Service) -> str:
    """What to know beside the commands."""
    return f"journalctl --user -u {file_name(service)} -f   # what the runner says"


def home_of(text: str) -> str | None:
    """The home of a unit that `text` wrote; None of any other file."""
    found = _HOME.search(text)
    return found[1] if found else None


def _quoted(word: str) -> str:
    """One word of a unit: quotes and backslashes escaped, no specifier in it.

    A `$` is nothing special in the name of a program or of a variable; in other words of a command
    it is to be doubled.
    """
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{plain}"'
