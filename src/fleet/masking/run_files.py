"""Which files of a run are masked at its end: those in its folder, and the CLI's own about it.

The keeper does it before its last word; where the keeper was killed, whoever settles the run.
"""

from contextlib import suppress
from pathlib import Path

from fleet.masking.outputs import mask_file

UNTOUCHED = (
    *(".masked", "exit.json", "exit.json.new", "alive.json", "alive.json.new"),
    *("escaped.json", "escaped.json.new"),
)
"""How the names of files end that are being written, or hold nothing but fleet's own words."""


def mask_run(folder: Path, run: str, transcript: str | None, secrets: tuple[str, ...]) -> None:
    """Mask the files of a run that is over; what cannot be read or replaced stays as it is.

    Args:
        folder: the run's folder, `state/run/<run>`.
        run: its id.
        transcript: the CLI's folder of transcripts; one outside of `state` is the user's own, and
            left alone.
        secrets: values that are secret whatever they look like.
    """
    own = [path for path in sorted(folder.iterdir()) if not path.name.endswith(UNTOUCHED)]
    if transcript and Path(transcript).is_relative_to(folder.parent.parent):
        own += transcripts(Path(transcript), run)
    for path in own:
        with suppress(OSError):
            mask_file(path, secrets)


def transcripts(folder: Path, run: str) -> list[Path]:
    """The session's own file and its subagents', in whatever project folder it is."""
    own = list(folder.glob(f"*/{run}.jsonl"))
    return own + [path for one in own for path in one.with_suffix("").glob("*/*.jsonl")]
