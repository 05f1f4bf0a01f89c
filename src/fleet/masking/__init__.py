"""What keeps secrets out of everything that fleet writes: `mask` and its like for whole bodies.

Standard library only, imported by every write and by the keeper: a cheap look decides, and the
patterns (`masking.kinds`) are loaded only for a text that may hold a secret. It knows texts and
names, not records; who writes what is decided by its callers.

A mask is `[masked:KIND]` and stands for one secret: no quote, no backslash, so that JSON stays
JSON, and masking what is masked changes nothing. Kinds are those of `kinds.KINDS`, those of
`names.WORDS`, and `environment`.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import is_
from typing import TypeVar, cast

from fleet.masking.names import secret_name

# Any text with a secret of a known form holds one of these.
MARKS = (
    *("sk-", "k_live_", "k_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("AKIA", "ASIA", "xox", "xapp-", "hooks.slack.com/", "AIza", "ya29.", "npm_", "pypi-", "hf_"),
    *("SG.", "eyJ", "PRIVATE KEY", "://", "dckr_pat_", "shpat_", "dop_v1_", "AGE-SECRET-KEY-"),
)
# What stands beside any other one, in lower case.
BESIDE = (
    *("passw", "passphrase", "pwd", "secret", "token", "credential", "authorization", "bearer"),
    *("apikey", "api key", "access key", "accesskey", "private key", "privatekey", "_key", "-key"),
)
_SHORT = 36  # characters of a run's id: such texts are mostly names and ids that come again
_RUN_TOKEN, _DIGITS = 101, 64  # characters of a run's token: its id, a dot, 64 digits

Value = TypeVar("Value")


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with a mask in the place of every secret.

    Args:
        text: anything; also JSON, also JSON inside a JSON string.
        secrets: values that are secret whatever they look like, see `secret_values`.
    """
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, _mask_of(secret))
    if _seen(text) if len(text) <= _SHORT else _may_hold(text):
        from fleet.masking.kinds import masked

        return masked(text)
    return text


def mask_body(body: Value, secrets: Iterable[str] = ()) -> Value:
    """`body` with every secret in it masked; the same object where there is none.

    A text is masked as by `mask`, names included, and as a whole where its name says that it is a
    secret: `{"API_KEY": "…"}`, `{"db": {"password": "…"}}`. Numbers stay what they are.
    """
    return cast("Value", _masked(body, tuple(secrets), ""))


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values in `environ` that must never be written, longest first, as `mask` takes them.

    Those of variables whose names say so (`DB_PASSWORD`, `GITHUB_TOKEN`), unless they are too
    short or too plain to be a secret; also as they stand inside a JSON string.
    """
    found = {
        part
        for name, value in environ.items()
        if value and secret_name(name, variable=True)
        for part in _parts(value)
    }
    return tuple(sorted(found, key=len, reverse=True))


def _parts(value: str) -> list[str]:
    """`value` in each form that it may have in a text."""
    if _is_run_token(value):
        return [value, value[-_DIGITS:]]
    from fleet.masking.values import is_plain

    if is_plain(value):
        return []
    if value.isalnum():
        return [value]
    import json

    return [value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]]


def _is_run_token(value: str) -> bool:
    return len(value) == _RUN_TOKEN and value[-_DIGITS - 1] == "." and value[-_DIGITS:].isalnum()


def _mask_of(secret: str) -> str:
    """The mask of a value that is known to be secret: its kind, where it has one."""
    from fleet.masking.kinds import is_mask, masked

    kind = masked(secret)
    return kind if is_mask(kind) else "[masked:environment]"


@lru_cache(maxsize=512)  # more would keep a process that runs for months from giving memory back
def _seen(text: str) -> bool:
    return _may_hold(text)


def _may_hold(text: str) -> bool:
    if any(map(text.__contains__, MARKS)):
        return True
    if len(text) >= _RUN_TOKEN and "-7" in text:  # a run's id is a UUID of version 7
        return True
    return (":" in text or "=" in text or " " in text) and any(
        map(text.lower().__contains__, BESIDE)
    )


def _masked(value: object, secrets: tuple[str, ...], kind: str) -> object:
    """`value`, whose name tells of `kind` ("": of no secret), masked."""
    if isinstance(value, str):
        text = mask(value, secrets)
        return _named(text, kind) if kind else text
    if isinstance(value, dict):
        return _masked_object(value, secrets, kind)
    if isinstance(value, (list, tuple)):
        new = [_masked(item, secrets, kind) for item in value]
        return value if all(map(is_, new, value)) else new
    return value


def _named(text: str, kind: str) -> str:
    from fleet.masking.values import named_value

    return named_value(text, kind)


def _masked_object(
    value: dict[object, object], secrets: tuple[str, ...], kind: str
) -> dict[object, object]:
    new: dict[object, object] = {}
    changed = False
    for name, item in value.items():
        key = mask(name, secrets) if isinstance(name, str) else name
        while key in new:  # two secrets of one kind as names
            key = f"{key}+"
        if isinstance(item, (str, dict, list, tuple)):
            inner = (secret_name(name) if isinstance(name, str) else "") or kind
            new[key] = _masked(item, secrets, inner)
            changed = changed or new[key] is not item
        else:
            new[key] = item
        changed = changed or key != name
    return new if changed else value
