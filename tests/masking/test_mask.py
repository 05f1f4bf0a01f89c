"""What `mask` and `mask_body` take for a secret, and what they leave alone."""

import json
import os
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.masking import BESIDE as FIRST_LOOK
from fleet.masking import MARKS, mask, mask_body, secret_values
from fleet.masking.kinds import KINDS
from fleet.records import new_id
from masking.secret_forms import B62, BESIDE, HEX, KNOWN, LOOK_ALIKES, NAMES, chars

AROUND = ("{}", "see {} now", "({})", '"{}"', "a\n{}\nb", "key={}", "line\\n{}\\n", "x%3A{}", "{}.")


@pytest.mark.parametrize("kind", KNOWN)
def test_a_known_form_is_masked_wherever_it_stands(kind: str) -> None:
    """A secret of a known form becomes the mask of its kind, and nothing of it is left."""

    @settings(max_examples=25, deadline=None)
    @given(KNOWN[kind], st.sampled_from(AROUND))
    def holds(secret: str, around: str) -> None:
        text = mask(around.format(secret))

        assert text == mask(text)
        assert f"[masked:{kind}]" in text
        assert secret[8:-1] not in text
        assert re.sub(r"\[masked:[a-z-]+\]", "", text).strip("-_") in around.format("")

    holds()


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("form", BESIDE)
def test_what_stands_beside_a_telling_name_is_masked(kind: str, form: str) -> None:
    """A value that looks random is masked beside each name that tells of it, in each notation."""

    @settings(max_examples=15, deadline=None)
    @given(chars(B62, 16, 40) | chars(HEX, 32, 40), st.sampled_from(NAMES[kind]))
    def holds(secret: str, name: str) -> None:
        text = form.format(name, secret)

        assert mask(text) == form.format(name, f"[masked:{kind}]")
        assert mask(mask(text)) == mask(text)

    holds()


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_a_look_alike_stays_as_it_is(text: str) -> None:
    """Counts, references, ids, hashes, images, paths, addresses, code and prose are untouched."""
    assert mask(text) == text
    assert mask(f"before {text} after") == f"before {text} after"
    body = {"text": text, "list": [text], "payload": {"summary": text}}
    assert mask_body(body) is body


@settings(max_examples=200, deadline=None)
@given(
    st.text()
    | st.text("pasword:=\"' token_key./@-", max_size=60)
    | st.lists(st.sampled_from([*FIRST_LOOK, *MARKS, ":", "=", '"', "\\", " ", "a1b2c3d4"])).map(
        "".join
    )
)
def test_masking_twice_is_masking_once(text: str) -> None:
    """A mask is never masked again, in whatever text."""
    assert mask(mask(text)) == mask(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | KNOWN["anthropic-key"],
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "apiKey", "password", "token", "b"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(JSON, st.integers(1, 3))
def test_masked_json_is_json(value: object, depth: int) -> None:
    """Masking the text of JSON, also of JSON inside JSON, leaves JSON of the same shape."""
    text = json.dumps(value)
    for _ in range(depth - 1):
        text = json.dumps(text)

    again = mask(text)

    for _ in range(depth):
        found = json.loads(again)
        again = found
    assert _shape(again) == _shape(value)


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return {name: _shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return type(value) if not isinstance(value, str) else str


def test_a_field_is_masked_by_its_name_at_any_depth() -> None:
    """Names in upper case, in camelCase and nested tell; numbers and look-alikes stay."""
    body = {
        "API_KEY": "correct-horse",
        "config": {"dbPassword": "x", "maxTokens": 4096, "max_tokens": "4096"},
        "items": [{"clientSecret": "battery-staple"}, {"headers": {"X-Api-Key": "plainwords"}}],
        "passwords": ["one", "two"],
        "token": "bucket",
        "tokens": 12,
        "password": 123456,
        "private_key": "/etc/ssl/key.pem",
    }

    assert mask_body(body) == {
        "API_KEY": "[masked:api-key]",
        "config": {"dbPassword": "[masked:password]", "maxTokens": 4096, "max_tokens": "4096"},
        "items": [
            {"clientSecret": "[masked:secret]"},
            {"headers": {"X-Api-Key": "[masked:api-key]"}},
        ],
        "passwords": ["[masked:password]", "[masked:password]"],
        "token": "bucket",
        "tokens": 12,
        "password": 123456,
        "private_key": "/etc/ssl/key.pem",
    }
    assert body["API_KEY"] == "correct-horse"


def test_names_that_are_secrets_lose_no_value() -> None:
    """Secrets as names of a payload are masked too, and two of one kind keep both values."""
    one, two = "sk-ant-api03-" + "a1" * 10, "sk-ant-api03-" + "b2" * 10

    assert sorted(mask_body({one: 1, two: 2}).values()) == [1, 2]
    assert not {one, two} & set(mask_body({one: 1, two: 2}))


def test_values_of_secret_variables_are_masked_as_they_are() -> None:
    """A variable's value is masked where its name tells and the value is more than a word."""
    run = f"{new_id(time.time())}.{os.urandom(32).hex()}"
    environ = {
        "DB_PASSWORD": "tr0ub4dor",
        "GH_PAT": "plainlookingvalue",
        "STRIPE_KEY": 'with"quote and space 1',
        "FLEET_RUN_TOKEN": run,
        "POSTGRES_PASSWORD": "postgres",
        "API_TOKEN": "true",
        "PIN_SECRET": "1234",
        "GOOGLE_CREDENTIALS": "/home/me/creds.json",
        "PWD": "/home/me",
        "TOKENIZERS_PARALLELISM": "false-but-long-1",
        "HOME": "/home/me",
    }
    secrets = secret_values(environ)
    said = (
        'I use tr0ub4dor, plainlookingvalue, with"quote and space 1 on postgres in /home/me: true'
    )

    assert mask(said, secrets) == (
        "I use [masked:environment], [masked:environment], [masked:environment]"
        " on postgres in /home/me: true"
    )
    assert mask(f"{run} {run[-64:]}", secrets) == "[masked:run-token] [masked:environment]"
    assert json.loads(mask(json.dumps({"x": environ["STRIPE_KEY"]}), secrets)) == {
        "x": "[masked:environment]"
    }
    assert "false-but-long-1" not in secrets


def test_the_first_look_misses_nothing() -> None:
    """Each kind's marks are among those that `mask` looks for before it loads any pattern."""
    for kind in KINDS:
        for mark in kind.marks:
            known = any(found in mark for found in MARKS)
            beside = any(found in mark.lower() for found in (*FIRST_LOOK, "uthorization", "earer"))
            assert known or beside or mark == "-7", (kind.name, mark)


HARD = ("sk-", "eyJ-", "-----BEGIN PRIVATE KEY-----", "password: pa", "://a:", '"a":', "bearer ")
HARD += (
    "token=a1b2c3d4=",
    "a",
    "_key",
    "\\\\",
    "SG.",
    '"token":"aaaa1aaa",',
    "slack.com/services/",
)


@pytest.mark.parametrize("again", HARD)
def test_no_text_takes_long(again: str) -> None:
    """A text of 256 KiB costs at most 16 times what one of 32 KiB costs: nothing is squared."""
    small, large = (again * (size // len(again)) + " token: x" for size in (1 << 15, 1 << 18))

    assert min(_cost(large) for _ in range(2)) < 16 * max(min(_cost(small) for _ in range(3)), 1e-3)


def _cost(text: str) -> float:
    before = time.process_time()
    mask(text)
    return time.process_time() - before


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=Tr0ub4dor&3x and", "password=[masked:password] and"),
        ("?password=Tr0ub4dor&next=3", "?password=[masked:password]&next=3"),
        ("PASSWORD=Tr0ub4dor&& run", "PASSWORD=[masked:password]&& run"),
        ("password=T0&ubador", "password=[masked:password]"),
    ],
)
def test_an_ampersand_inside_a_password_is_part_of_it(text: str, kept: str) -> None:
    """Nothing of the value stays visible, and the next parameter of a URL does."""
    assert mask(text) == kept
