"""What may be asked for: which keys, notes and durations a claim can have."""

from fleet.errors import NotAllowed, Rejected, Usage
from fleet.identity import SYSTEM, Author
from fleet.text import clip, escape

OWN_PREFIXES = ("agent:", "run:", "cap:")
MAX_KEY = 200  # bytes of UTF-8
MAX_NOTE = 500  # bytes of UTF-8
MAX_TTL = 366 * 86400.0  # seconds
MAX_WAIT = 600.0  # seconds


def check_key(author: Author, key: str) -> None:
    """Refuse what cannot be a key, and fleet's own keys to everybody else.

    Raises:
        Rejected: not 1 to 200 bytes of printable text, or with a space at an end.
        NotAllowed: the key is fleet's own.
    """
    _check_text("key", key, 1, MAX_KEY)
    if key != key.strip():
        raise Rejected(f"the key {key!r} begins or ends with a space", "leave the space out")
    if key.startswith(OWN_PREFIXES) and author is not SYSTEM:
        own = ", ".join(OWN_PREFIXES)
        raise NotAllowed(f"{key} is a key of fleet's own", f"do not begin a key with {own}")


def check_note(note: str) -> None:
    """Refuse a note that is over 500 bytes or not one printable line (`Rejected`)."""
    _check_text("note", note, 0, MAX_NOTE)


def _check_text(what: str, text: str, least: int, most: int) -> None:
    # isprintable is false for controls, bidi and zero-width characters, and half a surrogate pair
    if not text.isprintable() or not least <= len(text.encode()) <= most:
        raise Rejected(
            f"'{clip(escape(text), 60)}' cannot be a claim's {what}",
            f"give {least} to {most} bytes of plain text on one line",
        )


def check_durations(
    *,
    ttl: float | None = None,
    keep: float | None = None,
    once: float | None = None,
    wait: float = 0.0,
) -> None:
    """Refuse durations (seconds) that are out of bounds or contradict each other (`Usage`)."""
    if ttl is not None and keep is not None:
        raise Usage("--ttl and --keep exclude each other", "--keep holds it beyond the run")
    for name, value in (("ttl", ttl), ("keep", keep), ("once", once)):
        if value is not None and not 0 < value <= MAX_TTL:
            raise Usage(f"--{name} is out of bounds", "say 1s to 366d")
    if not 0 <= wait <= MAX_WAIT:
        raise Usage("--wait is out of bounds", "wait at most 10m")
