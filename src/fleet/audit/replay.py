"""A prompt built again, byte for byte, from what the run's record says that it was made from.

Nothing that came later has a say in it: logs are read up to their pins, config and templates come
from the blobs. It changes nothing, and when it cannot do it, it says why.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from fleet import __version__, blobs
from fleet.config.model import HomeConfig
from fleet.config.portable import from_json
from fleet.context import Context, Made, RenderFailed, build_from, made_of
from fleet.errors import EndedBadly, Unknown
from fleet.logs import record_at
from fleet.masking import mask
from fleet.ports import Store, first_kept
from fleet.records import Instant, Place
from fleet.runs import UNPREPARED, Run
from fleet.runs.folder import TOLD, hashes
from fleet.snapshots import Snapshot
from fleet.wiring import Fleet


class Replayed(NamedTuple):
    """A context that was built again.

    Attributes:
        run: whose it is.
        made: what it was made from.
        config: the config that was in force.
        templates: by name the text of each template that it needed.
        context: what was built.
        files: by name of `TOLD` the bytes.
        changed: the files of `TOLD` that are not what the run was told.
        edited: the files of `TOLD` that stand in the run's folder and are not what was written.
        gone: whether the run's own files are gone: it is built from records and blobs alone.
        reasons: when something changed, what may be the cause; a line each.
    """

    run: Run
    made: Made
    config: HomeConfig
    templates: Mapping[str, str]
    context: Context
    files: Mapping[str, bytes]
    changed: tuple[str, ...]
    edited: tuple[str, ...]
    gone: bool
    reasons: tuple[str, ...]


def replay(fleet: Fleet, run: Run) -> Replayed:
    """What `run` was told, built again.

    Raises:
        EndedBadly: it cannot be built; the message says why.
    """
    made = _made(fleet, run)
    config, templates = _config(fleet.store, run, made), _templates(fleet.store, run, made)
    given = made.given
    moment = Instant(given.now, "", 0.0)
    documents = given.documents(run.agent)
    snapshot = Snapshot(fleet.store, made.pins, documents=documents, now=moment)
    sources = fleet.sources_at(snapshot, fleet.values.apart(), given, config, templates)
    try:
        context = build_from(sources, config.agents[run.agent], run.id)
    except (RenderFailed, Unknown) as fault:
        why = "; ".join([str(fault), *_reasons(fleet.store, made)])
        raise EndedBadly(f"the prompt of {run.ref} cannot be built again: {why}") from fault
    texts = (context.context_md, context.prompt_md)
    files = {name: mask(text).encode() for name, text in zip(TOLD, texts, strict=True)}
    changed = [name for name in TOLD if sha256(files[name]).hexdigest() != made.files.get(name)]
    there = hashes(fleet.runs.folder(run.id), TOLD)
    return Replayed(
        run=run,
        made=made,
        config=config,
        templates=templates,
        context=context,
        files=files,
        changed=tuple(changed),
        edited=tuple(name for name in there if there[name] != made.files.get(name)),
        gone=not there,
        reasons=tuple(_reasons(fleet.store, made)) if changed else (),
    )


def _made(fleet: Fleet, run: Run) -> Made:
    body = fleet.runs.made(run)
    if body is None and run.outcome in UNPREPARED:
        raise EndedBadly(
            f"{run.ref} was never told anything: it ended as {run.outcome}", run.reason
        )
    if body and "blob" in body:
        kept = blobs.load(fleet.store, str(body["blob"]))
        body = kept if isinstance(kept, dict) else {}
    made = made_of(body or {})
    if made is None:
        raise EndedBadly(
            f"the record of {run.ref} does not say what its prompt was made from",
            "another version of fleet started it, or a record or blob is gone",
        )
    return made


def _config(store: Store, run: Run, made: Made) -> HomeConfig:
    said = blobs.load(store, made.config_blob) if made.config_blob else None
    if not isinstance(said, dict):
        why = f"blobs/{made.config_blob} is gone" if made.config_blob else "it was too large"
        raise EndedBadly(f"the config of {run.ref} was not kept", why)
    try:
        config = from_json(said, made.root, made.config)
        config.agents[run.agent]
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise EndedBadly(
            f"this version of fleet cannot read the config of {run.ref} ({fault!r})",
            f"fleet {made.fleet} wrote it",
        ) from fault
    return config


def _templates(store: Store, run: Run, made: Made) -> dict[str, str]:
    kept = {name: blobs.load(store, blob) for name, blob in made.templates.items()}
    gone = [name for name, text in kept.items() if text is None]
    if gone:
        what = f"the template prompts/{gone[0]} of {run.ref} was not kept"
        raise EndedBadly(what, f"blobs/{made.templates[gone[0]]} is gone, or it was too large")
    return {name: str(text) for name, text in kept.items()}


def _reasons(store: Store, made: Made) -> Iterator[str]:
    """What is not as it was."""
    for stream, place in made.pins.items():
        if place.seq and (why := _moved(store, stream, place)):
            yield why
    if made.fleet != __version__:
        yield f"fleet {made.fleet} built it, this is {__version__}"


def _moved(store: Store, stream: str, place: Place) -> str:
    first = first_kept(store, stream)
    if first > place.seq:
        return f"{stream} was trimmed up to number {first - 1}"
    found = record_at(store, stream, place.seq)
    if found is None:
        return f"number {place.seq} of {stream} cannot be read"
    if place.crc and found.crc != place.crc:
        return f"{stream} was replaced: its number {place.seq} is another record"
    return f"{stream} was trimmed up to number {first - 1}" if first > 1 else ""
