"""What secrets look like: one line a kind, and the key words beside which anything random is one.

Loaded only for a text in which `mask` found a reason to look. Every pattern is linear in the text,
whatever that is: runs are possessive, and begin where nothing of their own kind stands before.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from string import ascii_letters, digits
from typing import NamedTuple

from fleet.masking.names import secret_name
from fleet.masking.values import is_random, is_secret, named_value

# A secret begins behind what is no part of a word, or behind an escaped character of JSON or a URL.
_AT = r"(?:(?<![A-Za-z0-9])|(?<=\\[abfnrtv])|(?<=%[0-9A-Fa-f]{2}))"
_AFRESH = r"(?:(?<![\w-])|(?<=\\[abfnrtv])|(?<=%[0-9A-Fa-f]{2}))"
_QUOTE = r"\\{0,7}[\"']"
_BREAK = r"(?:\s|\\{1,4}[nrt])"
_PEM = r"[A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
_LOOK = 96  # characters of a value that decide whether it is one
_NAME = 64  # characters of a name that count
_IN_NAMES = f"{ascii_letters}{digits}_.-"
_FIRST = re.compile(r"(?<![\w-])(?:api|access|private|secret|auth) \Z", re.IGNORECASE)


def _has_digit(found: str) -> bool:
    return any(map(str.isdigit, found))


class Kind(NamedTuple):
    """One form of secret.

    Attributes:
        name: what the mask says.
        pattern: finds it; a group `secret` is what is masked, else all of it.
        marks: texts of which one must be there, the look that comes before the pattern.
        check: what else must be so of what would be masked.
    """

    name: str
    pattern: str
    marks: tuple[str, ...]
    check: Callable[[str], bool] | None = None


KINDS = (
    Kind(
        "private-key",
        rf"-----BEGIN {_PEM}(?:(?:[A-Za-z0-9+/=:,.()]|{_BREAK}|-(?!----))*+-----END {_PEM}"
        rf"|(?:{_BREAK}*[A-Za-z0-9+/=]{{16,}})*)",
        ("PRIVATE KEY",),
    ),
    Kind("private-key", rf"{_AT}AGE-SECRET-KEY-1[A-Z0-9]{{20,}}", ("AGE-SECRET-KEY-",)),
    Kind("jwt", rf"{_AFRESH}eyJ[\w-]{{10,}}+\.[\w-]{{10,}}+\.[\w-]*+(?:\.[\w-]++)*", ("eyJ",)),
    Kind("anthropic-key", rf"{_AT}sk-ant-[\w-]{{8,}}", ("sk-ant-",)),
    Kind("api-key", rf"{_AT}sk-[\w-]{{16,}}", ("sk-",), is_random),
    Kind("stripe-key", rf"{_AT}[a-z]k_(?:live|test)_\w{{8,}}", ("k_live_", "k_test_")),
    Kind("github-token", rf"{_AT}gh[opusr]_\w{{16,}}", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    Kind("github-token", rf"{_AT}github_pat_\w{{16,}}", ("github_pat_",)),
    Kind("gitlab-token", rf"{_AT}glpat-[\w.-]{{16,}}", ("glpat-",)),
    Kind("aws-key", rf"{_AT}(?:AKIA|ASIA)[A-Z0-9]{{16}}(?![A-Za-z0-9])", ("AKIA", "ASIA")),
    Kind("slack-token", rf"{_AT}(?:xox[a-z]|xapp)-[\w-]{{10,}}", ("xox", "xapp-"), _has_digit),
    Kind(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/]{16,})",
        ("hooks.slack.com/",),
    ),
    Kind("google-key", rf"{_AT}AIza[\w-]{{30,}}", ("AIza",)),
    Kind("google-token", rf"{_AT}ya29\.[\w.-]{{16,}}", ("ya29.",)),
    Kind("npm-token", rf"{_AT}npm_[A-Za-z0-9]{{16,}}(?!\w)", ("npm_",), is_random),
    Kind("pypi-token", rf"{_AT}pypi-[\w-]{{16,}}", ("pypi-",), is_random),
    Kind("huggingface-token", rf"{_AT}hf_[A-Za-z0-9]{{16,}}(?!\w)", ("hf_",), is_random),
    Kind("docker-token", rf"{_AT}dckr_pat_[\w-]{{16,}}", ("dckr_pat_",)),
    Kind("shopify-token", rf"{_AT}shpat_[A-Za-z0-9]{{16,}}", ("shpat_",)),
    Kind("digitalocean-token", rf"{_AT}dop_v1_[a-f0-9]{{16,}}", ("dop_v1_",)),
    Kind("sendgrid-key", rf"{_AT}SG\.[\w-]{{16,64}}\.[\w-]{{16,64}}", ("SG.",)),
    Kind("run-token", r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f-]{17}\.[0-9a-f]{64}", ("-7",)),
    Kind(
        "password",
        r"(?<=://)[^\s/:@\"'\\]{0,256}:(?P<secret>[^\s/\"'\\\[]{1,512})@",
        ("://",),
        lambda found: not found.startswith(("$", "{", "<")),
    ),
    Kind(
        "token",
        rf"(?i)authorization{_QUOTE}?\s{{0,8}}[:=]\s{{0,8}}(?:{_QUOTE})?(?:basic|token|apikey)"
        r"[ ]+(?P<secret>[A-Za-z0-9._~+/-]{8,}=*)",
        ("uthorization", "UTHORIZATION"),
    ),
    Kind(
        "token",
        rf"(?i){_AT}bearer[ ]+(?P<secret>[A-Za-z0-9._~+/-]{{16,}}=*)",
        ("earer ", "EARER "),
        is_random,
    ),
)

_STEM = r"(?ai)pass|pwd|secret|credential|authorization|key|token|(?<=_)pat"
_AMPERSAND = r"&(?![\w.%-]{1,80}=|[\s&]|$)"
"""One that stands inside a value: not before the next parameter of a URL, and none of a shell's."""
_BARE = (
    rf"(?i)(?P<rest>[a-z]{{0,10}})"
    rf"(?:(?:{_QUOTE})?\s{{0,8}}(?::=|=>|[:=])\s{{0,8}}|\s{{1,4}}is\s{{1,4}})(?:{_QUOTE})?"
    rf"(?P<secret>(?:[^\s\"'\\,;&<>(){{}}\[\]=]|{_AMPERSAND}){{6}}"
    rf"(?:[^\s\"'\\,;&<>(){{}}\[\]]|{_AMPERSAND}){{0,506}})"
)
"""What follows such a stem: `password=…`, `API_KEY: …`, `token is …`."""
_QUOTED = (
    rf"{_QUOTE}(?P<name>[\w .-]{{1,80}}){_QUOTE}\s{{0,8}}(?:=>|[:=])\s{{0,8}}(?P<end>{_QUOTE})"
    r"(?P<secret>[^\"'\\\n]{1,4096})(?P=end)"
)
"""`"apiKey": "…"` as JSON or Python write it, with as many backslashes as it may have."""
MASK = re.compile(r"\[masked:[a-z-]+\]")


class Found(NamedTuple):
    """One secret in a text.

    Attributes:
        start: where it begins.
        end: where it ends.
        kind: what its mask says.
        begin: where what gives it away begins: a key word before it, or itself.
    """

    start: int
    end: int
    kind: str
    begin: int


def masked(text: str) -> str:
    """`text` with a mask in the place of everything that looks like a secret."""
    for rule in _RULES:
        parts: list[str] = []
        upto = 0
        for one in rule(text):
            parts += (text[upto : one.start], f"[masked:{one.kind}]")
            upto = one.end
        text = "".join((*parts, text[upto:])) if parts else text
    return text


def is_mask(text: str) -> bool:
    """Whether `text` is one mask and nothing else."""
    return MASK.fullmatch(text) is not None


def whole_upto(text: str, at: int, secrets: Iterable[str] = ()) -> int:
    """The largest place up to `at` where `text` can be cut without cutting a secret in two."""
    before = -1
    while at != before:
        before = at
        for rule in _RULES:
            at = min((one.begin for one in rule(text) if one.begin < at < one.end), default=at)
        for secret in secrets:
            start = text.find(secret, max(0, at - len(secret) + 1), at + len(secret) - 1)
            at = start if 0 <= start < at else at
    return at


def _by_form(kind: Kind, text: str) -> Iterator[Found]:
    if not any(map(text.__contains__, kind.marks)):
        return
    group = "secret" if "?P<secret>" in kind.pattern else 0
    for match in re.finditer(kind.pattern, text):
        if kind.check is None or kind.check(match[group]):
            yield Found(*match.span(group), kind.name, match.start())


def _quoted(text: str) -> Iterator[Found]:
    for match in re.finditer(_QUOTED, text):
        kind = secret_name(match["name"])
        if kind and not _stays(match["secret"], kind):
            yield Found(*match.span("secret"), kind.rstrip("?"), match.start())


def _stays(value: str, kind: str) -> bool:
    return named_value(value, kind) == value


def _bare(text: str) -> Iterator[Found]:
    follows = re.compile(_BARE)
    upto = 0
    for stem in re.finditer(_STEM, text):
        match = follows.match(text, stem.end()) if stem.start() >= upto else None
        if match is None:
            continue
        name = _name_before(text, stem.start()) + stem[0] + match["rest"]
        kind = secret_name(name, variable=name.isupper()).rstrip("?")
        if kind and is_secret(match["secret"][:_LOOK], kind):
            yield Found(*match.span("secret"), kind, stem.start())
            upto = match.end()


def _name_before(text: str, at: int) -> str:
    """What of a name stands before place `at`: `DB_`, `by`, `api `."""
    before = text[max(0, at - _NAME) : at]
    outside = before.rstrip(_IN_NAMES)
    if outside == before and (first := _FIRST.search(before)):
        return first[0]
    return before[len(outside) + outside.endswith("\\") :]  # the `n` of an escaped newline is none


_RULES: tuple[Callable[[str], Iterator[Found]], ...] = (
    *(partial(_by_form, kind) for kind in KINDS),
    _quoted,
    _bare,
)
