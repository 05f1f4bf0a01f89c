"""Reads what a run's process printed: the CLI's stream of JSON lines, and the edges of any text.

It says what stands there and judges nothing; a torn, huge or hostile file is no error.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fleet.text import clip, escape

MAX_LINE = 16 << 20  # bytes; a longer line of output is skipped: no result line comes near it
EDGE = 4096  # bytes of plain output that are looked at, from each end
MAX_DENIALS = 20
MAX_VERSION = 40  # characters
MILLIS = 1e11  # a later moment than any in seconds: it was told in milliseconds
MOST_MOMENT = 1e14  # ms since the epoch, the year 5138: no limit ends later

# What no run can have: above it a program told nonsense, and one such figure would spoil the sums
# of its day. A run lasts hours at most, so each is a hundred times what the dearest models reach.
MOST_DOLLARS = 10_000.0
MOST_TOKENS = 10**10
MOST_TURNS = 10**7

Json = Mapping[str, object]


@dataclass(slots=True)
class Output:
    """What the CLI's stream holds.

    Attributes:
        result: the last result line, None without one.
        lines: how many JSON objects there are.
        retry_status: HTTP status of the newest retry, None when an answer came after it.
        limit_ends: epoch seconds, when the newest word on the usage limit was a refusal.
        version: what the CLI says it is, None when it does not.
        refused: whether the newest word on the usage limit was a refusal, and no answer came after.
        limit_ends: epoch seconds at which a refused limit ends, None when it does not say.
        fault: what the CLI calls the fault that ended its last answer (`rate_limit`), "" if none.
        plain: the last line that is no JSON: the CLI's own, a model's words stand in JSON.
    """

    result: Json | None = None
    lines: int = 0
    retry_status: int | None = None
    refused: bool = False
    limit_ends: float | None = None
    version: str | None = None
    fault: str = ""
    plain: str = ""


def read_stream(path: Path) -> Output:
    """The stream-json file at `path`, read once, one line in memory at a time."""
    output = Output()
    for line in _lines(path):
        message = _parsed(line)
        if message is not None:
            output.lines += 1
            _take(output, message)
        elif text := _plain(line):
            output.plain = text
    return output


def _take(output: Output, message: Json) -> None:
    kind = message.get("type")
    if kind == "result":
        output.result = message
    elif kind == "system" and message.get("subtype") == "init":
        said = message.get("claude_code_version")
        output.version = clip(said, MAX_VERSION) if isinstance(said, str) else None
    elif kind == "system" and message.get("subtype") == "api_retry":
        output.retry_status = count(message.get("error_status"))
    elif kind == "assistant":
        _answered(output, message)
    elif kind == "rate_limit_event":
        _limited(output, message.get("rate_limit_info"))


def _answered(output: Output, message: Json) -> None:
    said = message.get("message")
    output.fault = str(message.get("error") or "")
    if output.fault or (isinstance(said, dict) and said.get("model") == "<synthetic>"):
        return  # the CLI wrote it itself, in a model's place
    output.retry_status, output.refused, output.limit_ends = None, False, None


def _limited(output: Output, info: object) -> None:
    output.refused = isinstance(info, dict) and info.get("status") == "rejected"
    ends = (
        amount(info.get("resetsAt"), MOST_MOMENT)
        if output.refused and isinstance(info, dict)
        else None
    )
    output.limit_ends = ends / 1000 if ends and ends > MILLIS else ends


def _lines(path: Path) -> Iterator[bytes]:
    """Whole lines and a last one without LF; of those above `MAX_LINE` nothing."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        too_long = False
        while line := file.readline(MAX_LINE):
            whole = line.endswith(b"\n")
            if not too_long and (whole or len(line) < MAX_LINE):
                yield line
            too_long = not whole


def _plain(line: bytes) -> str:
    """The line as text; "" for what may be a piece of JSON, or is too long to be a word."""
    text = line.strip() if len(line) <= EDGE else b""
    return "" if text[:1] in {b"{", b"["} else text.decode("utf-8", "replace")


def _parsed(line: bytes) -> Json | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def edges(path: Path) -> str:
    """The first and the last `EDGE` bytes of a file as text; "" when there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        head = file.read(2 * EDGE)
        if file.seek(0, 2) > len(head):
            file.seek(-EDGE, 2)
            head = head[:EDGE] + b"\n" + file.read()
    return head.decode("utf-8", "replace")


def answer(result: Json) -> str:
    """The final text of a result line, or its errors joined; "" without either."""
    text = result.get("result")
    if isinstance(text, str):
        return text
    errors = result.get("errors")
    return "; ".join(map(str, errors)) if isinstance(errors, list) else ""


def denials(result: Json) -> tuple[str, ...]:
    """`Bash(rm -rf x)` for each denied tool, at most `MAX_DENIALS`; any entry counts."""
    found = result.get("permission_denials")
    return tuple(map(_denial, found[:MAX_DENIALS])) if isinstance(found, list) else ()


def _denial(entry: object) -> str:
    if not isinstance(entry, dict):
        return "?"
    asked = entry.get("tool_input")
    first = next(iter(asked.values()), "") if isinstance(asked, dict) else ""
    return escape(clip(f"{entry.get('tool_name')}({first})", 120))


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a result line counts; None where it does not say. Cached tokens are input tokens.

    Attributes:
        cost_usd: dollars, at most `MOST_DOLLARS`.
        tokens_in: at most `MOST_TOKENS`, as the next.
        tokens_out: output tokens.
        turns: at most `MOST_TURNS`.
        impossible: which of `cost`, `tokens` and `turns` it told as no run can have them.
    """

    cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    turns: int | None
    impossible: tuple[str, ...] = ()


def numbers(result: Json) -> Numbers:
    """The counts of a result line; models that were used in passing are in `modelUsage` only.

    A figure that no run can have (negative, no number, above its bound) counts as unknown.
    """
    ins = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    outs: tuple[str, ...] = ("outputTokens",)
    models = result.get("modelUsage")
    found = models.values() if isinstance(models, dict) else ()
    used = [one for one in found if isinstance(one, dict)]
    usage = result.get("usage")
    if not used and isinstance(usage, dict):
        used = [usage]
        ins = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        outs = ("output_tokens",)
    cost = amount(result.get("total_cost_usd"), MOST_DOLLARS)
    tokens_in, tokens_out = _total(used, ins), _total(used, outs)
    turns = count(result.get("num_turns"), MOST_TURNS)
    impossible = (
        ("cost", cost is None and result.get("total_cost_usd") is not None),
        ("tokens", bool(used) and (tokens_in is None or tokens_out is None)),
        ("turns", turns is None and result.get("num_turns") is not None),
    )
    odd = tuple(name for name, is_odd in impossible if is_odd)
    return Numbers(cost, tokens_in, tokens_out, turns, odd)


def _total(used: list[dict[str, object]], names: tuple[str, ...]) -> int | None:
    """The sum of what is told under `names`; None without any, or when it cannot be."""
    told = [one.get(name) for one in used for name in names]
    counts = [count(value, MOST_TOKENS) for value in told if value is not None]
    known = [value for value in counts if value is not None]
    return count(sum(known), MOST_TOKENS) if used and len(known) == len(counts) else None


def count(value: object, most: int = MOST_TOKENS) -> int | None:
    """`value` when it is a whole number from 0 to `most`, else None."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= most else None


def amount(value: object, most: float) -> float | None:
    """`value` when it is a number from 0 to `most`, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= most else None
