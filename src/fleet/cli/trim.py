"""What is stored, and trimming it, from the command line."""

from typing import TYPE_CHECKING

import click

from fleet.cli.grammar import DURATION, command
from fleet.cli.output import bar, say, say_error, say_json, table
from fleet.cli.session import Session, pass_session
from fleet.errors import EndedBadly
from fleet.units import format_size, parse_size

if TYPE_CHECKING:
    from fleet.ops.trim import Log


class Size(click.ParamType[int]):
    """`64KiB`, `20MiB`, `1GiB`: becomes bytes."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Bytes."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(str(value))
        except ValueError as fault:
            self.fail(str(fault), param, ctx)


@command(
    "trim", examples=["fleet trim", "fleet trim --keep 90d", "fleet trim --keep 30d --force --json"]
)
@click.option("--free", type=Size(), metavar="SIZE", help="Go on until so much is free.")
@click.option("--keep", type=DURATION, metavar="TIME", help="Younger records stay: 90d.")
@click.option("--force", is_flag=True, help="Also what agents have not seen: they never will.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@pass_session
def trim_command(
    session: Session, *, free: int | None, keep: float | None, force: bool, as_json: bool
) -> None:
    """Without --free or --keep: what each log takes, what may go, and what holds it; no change.

    Whole segments (16 MiB) that every enabled agent has read go to state/archive, oldest first,
    and are compressed there; the newest segment of a log always stays. Deleted are only files of
    runs, what they printed, that `retention` in fleet.yaml keeps no longer.
    """
    from fleet.ops.trim import logs

    fleet = session.fleet
    if free is None and keep is None:
        _show(session, logs(fleet, force=force), as_json=as_json)
        return
    from fleet.ops.retention import Sweep
    from fleet.ops.trim import else_needed, losses, told, trim

    with fleet.maintained(shared=False), bar("trim") as progress:
        swept = Sweep(fleet).delete()
        more = None if free is None else max(0, free - swept.freed)
        done = trim(fleet, free=more, keep=keep, force=force, progress=progress)
    if swept.runs:
        say_json(swept.as_json()) if as_json else say(str(swept))
    for moved in done:
        if as_json:
            say_json(moved.as_json())
        else:
            say(told(moved))
        for line in losses(moved):
            say_error(line)
    freed = swept.freed + sum(moved.freed for moved in done)
    if free is not None and freed < free:
        for line in else_needed(fleet, logs(fleet)):
            say_error(f"note: {line}")
        what = f"{format_size(freed)} of {format_size(free)} are free now"
        raise EndedBadly(what, "the notes say what else there is")
    if not (done or swept.runs) and not as_json:
        say("nothing could go: fleet trim says what holds it")


def _show(session: Session, found: "list[Log]", *, as_json: bool) -> None:
    from fleet.ops.retention import Sweep
    from fleet.ops.trim import beside

    stored = [*(log.as_json() for log in found), Sweep(session.fleet).as_json()]
    more = beside(session.fleet)
    if as_json:
        for one in stored:
            say_json(one)
        for name, size in more.items():
            say_json({"what": name, "live": size, "archive": 0, "can_go": 0, "held_by": ""})
        return
    rows: list[tuple[object, ...]] = [("log", "live", "archive", "can go", "what holds the rest")]
    for one in stored:
        sizes = (format_size(int(str(one[name]))) for name in ("live", "archive", "can_go"))
        rows.append((one["what"], *sizes, one["held_by"]))
    rows += [(name, format_size(int(str(size))), "-", "-", "") for name, size in more.items()]
    for line in table(rows):
        say(line)
