"""Event types as bus and people ask for them."""

import copy
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleet.config.sources import TAKEN
from fleet.errors import BadHome, Rejected, Unknown
from fleet.schemas import Registry
from fleet.schemas.compiled import MARK
from fleet.schemas.own import OWN

LEAD = {"email": "sarah@acme.com", "method": "email"}


def test_a_type_says_what_its_file_says(registry) -> None:
    """Description, fields, claim and addressee come from the file."""
    kind = registry.get("contact-made")

    assert kind.description == "Agent contacted a lead"
    assert kind.required == ("email", "method")
    assert kind.properties == {"email": "string", "method": "string"}
    assert (kind.x_claim, kind.x_to, kind.warning) == ("lead:{email}", None, "")
    assert kind.source["title"] == "contact-made"
    assert registry.names() == ["contact-made", "pricing-change", "reply-received", "task-created"]


def test_a_fitting_payload_has_no_faults(registry) -> None:
    """What the schema allows passes, further fields included, and is not changed."""
    payload = {**LEAD, "more": [1, {"a": None}]}
    before = copy.deepcopy(payload)

    assert registry.check("contact-made", payload) == []
    assert payload == before


def test_every_fault_is_one_line_and_names_its_field(registry) -> None:
    """All faults come at once, in order, worded by jsonschema."""
    faults = registry.check("pricing-change", {"competitor": 3, "score": "high"})

    assert faults == [
        "'newPrice' is a required property",
        "competitor: 3 is not of type 'string'",
        "score: 'high' is not of type 'number'",
    ]


def test_long_and_hostile_values_stay_short_lines(registry) -> None:
    """A fault never repeats a whole payload and never carries a control character."""
    bad = {"competitor": ["\x1b[31m\n\u202e" * 5000], "newPrice": "1"}

    (fault,) = registry.check("pricing-change", bad)

    assert len(fault) < 700
    assert fault.isprintable()
    assert fault.endswith("is not of type 'string'")


def test_many_faults_are_counted_off(write, home, cache) -> None:
    """A payload wrong in a thousand places gets twenty lines and a hint."""
    write("schemas/many.json", '{"additionalProperties": {"type": "null"}}')

    faults = Registry(home, cache).check("many", {f"f{n}": n for n in range(1000)})

    assert len(faults) == 21
    assert faults[-1] == "and more"


def test_a_payload_is_an_object(registry) -> None:
    """Lists and texts are refused even where a schema forgot to say so."""
    assert registry.check("contact-made", ["email"]) == ["the payload is no JSON object"]


def test_an_unknown_type_gets_the_nearest_name(registry) -> None:
    """A typo is answered with the name that was meant; a path is just an unknown name."""
    with pytest.raises(Unknown, match="did you mean 'contact-made'"):
        registry.get("contact-mode")
    for name in ("../fleet", "a/b", "", ".", "\0", "x" * 300, "Contact-made"):
        with pytest.raises(Unknown):
            registry.get(name)


def test_values_are_text_unless_the_schema_says_otherwise(write, home, cache) -> None:
    """KEY=VALUE words become numbers, flags and structures only where the type asks for them."""
    write(
        "schemas/t.json",
        '{"properties": {"s": {"type": "string"}, "i": {"type": "integer"}, "any": {},'
        ' "n": {"type": "number"}, "b": {"type": "boolean"}, "a": {"type": "array"},'
        ' "o": {"type": "object"}, "z": {"type": "null"}, "sn": {"type": ["string", "null"]},'
        ' "ni": {"type": ["null", "integer"]}}}',
    )
    words = {
        "s": "007", "i": "5", "any": "1", "n": "1.5", "b": "true", "a": "[1]", "o": '{"x": 1}',
        "z": "null", "sn": "null", "ni": "null", "other": "3",
    }  # fmt: skip

    payload = Registry(home, cache).coerce("t", words)

    assert payload == {
        "s": "007", "i": 5, "any": "1", "n": 1.5, "b": True, "a": [1], "o": {"x": 1},
        "z": None, "sn": "null", "ni": None, "other": "3",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["many", "NaN", "Infinity", "1" * 5000, "", "007", "\ud800"])
def test_a_word_that_is_no_number_is_a_fault_not_a_crash(registry, text) -> None:
    """What cannot be read as the schema asks stays text, and `check` names the field."""
    words = {"competitor": "Cursor", "newPrice": "20", "score": text}

    payload = registry.coerce("pricing-change", words)

    assert payload["score"] == text
    (fault,) = registry.check("pricing-change", payload)
    assert fault.startswith("score: ")


def test_the_claim_key_is_made_of_the_payload(registry, write) -> None:
    """Fields fill the template as text; types without one ask for no claim."""
    write("schemas/n.json", '{"x-claim": "n:{i}:{b}", "required": ["i", "b"]}')

    assert registry.claim_key("contact-made", dict(LEAD)) == "lead:sarah@acme.com"
    assert registry.claim_key("contact-made", {"email": "{method}"}) == "lead:{method}"
    assert registry.claim_key("n", {"i": 3, "b": False}) == "n:3:false"
    assert registry.claim_key("reply-received", dict(LEAD)) is None
    for payload in ({}, {"email": None}, {"email": ["x"]}, {"email": ""}):
        with pytest.raises(Rejected, match="email"):
            registry.claim_key("contact-made", payload)


def test_the_addressee_is_named_by_a_field(registry) -> None:
    """`x-to` takes the agent from the payload; without the field the event is a broadcast."""
    assert registry.addressee("task-created", {"assignedTo": "outreach"}) == "outreach"
    assert registry.addressee("task-created", {}) is None
    assert registry.addressee("contact-made", {"assignedTo": "outreach"}) is None
    with pytest.raises(Rejected, match="assignedTo"):
        registry.addressee("task-created", {"assignedTo": 3})


def test_the_subject_is_made_of_the_payload(registry, write) -> None:
    """`x-subject` names what is announced; without its field nothing is; too long is refused."""
    write("schemas/c.json", '{"x-subject": "c:{id}", "properties": {"id": {}}}')

    assert registry.subject("c", {"id": "spring"}) == "c:spring"
    assert registry.subject("c", {"id": 7}) == "c:7"
    assert [registry.subject("c", payload) for payload in ({}, {"id": ""}, {"id": None})] == [
        None
    ] * 3
    assert registry.subject("contact-made", dict(LEAD)) is None
    with pytest.raises(Rejected, match="over 200 bytes"):
        registry.subject("c", {"id": "x" * 199})


def test_later_drafts_are_judged_by_their_own_rules(write, home, cache) -> None:
    """2020-12's `prefixItems` counts there, and is a mere annotation in draft 7."""
    later = '{"$schema": "https://json-schema.org/draft/2020-12/schema", '
    body = '"properties": {"a": {"prefixItems": [{"type": "string"}]}}}'
    write("schemas/new.json", later + body)
    write("schemas/old.json", "{" + body)
    registry = Registry(home, cache)

    assert registry.check("new", {"a": [1]}) == ["a.0: 1 is not of type 'string'"]
    assert registry.check("new", {"a": ["x"]}) == []
    assert registry.check("old", {"a": [1]}) == []


def test_a_schema_that_never_ends_is_a_fault(write, home, cache) -> None:
    """A reference in a circle is refused at the file, or at the payload that meets it."""
    write("schemas/loop.json", '{"allOf": [{"$ref": "#"}]}')
    write(
        "schemas/deep.json",
        '{"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}}',
    )
    registry = Registry(home, cache)

    with pytest.raises(BadHome, match="without end"):
        registry.check("loop", {})
    assert registry.check("deep", {"a": 1}) == ["the schema refers to itself without end"]


# Files that change -----------------------------------------------------------------------------


def test_an_edited_file_counts_at_once(registry, write, settle) -> None:
    """The next question after an edit is answered by the new file."""
    settle()
    assert registry.check("reply-received", {"email": "a", "classification": "b"}) == []

    write("schemas/reply-received.json", '{"required": ["score"]}')

    assert registry.check("reply-received", {"email": "a"}) == ["'score' is a required property"]


def test_an_edit_within_one_tick_is_seen(registry, write, monkeypatch) -> None:
    """While a file is young its bytes decide, for its times may not show an edit yet."""
    path = write("schemas/y.json", '{"required": ["a"]}')
    tick = (path.stat().st_size, time.time_ns(), time.time_ns(), 1)
    monkeypatch.setattr("fleet.schemas.files.print_of", lambda path: tick)
    assert registry.get("y").required == ("a",)

    path.write_text('{"required": ["b"]}')

    assert registry.get("y").required == ("b",)


def test_a_settled_file_is_not_read_again(registry, home, settle, monkeypatch) -> None:
    """Once its times can be believed, asking for a type reads nothing but the cache."""
    registry.get("contact-made")
    settle()
    registry.get("contact-made")
    monkeypatch.setattr("fleet.schemas.files.read", lambda path: pytest.fail("read again"))

    assert registry.check("contact-made", dict(LEAD)) == []


def test_a_broken_edit_keeps_the_last_good_form(home, cache, write) -> None:
    """The type goes on as before and says so; the other types know nothing of it; a fix counts."""
    Registry(home, cache).look()
    write("schemas/contact-made.json", '{"type": "object", "required": ["email"')
    registry = Registry(home, cache)

    assert registry.check("contact-made", {"email": "a"}) == ["'method' is a required property"]
    assert "last good form" in registry.get("contact-made").warning
    assert "contact-made.json:1" in registry.get("contact-made").warning
    assert registry.get("reply-received").warning == ""

    write("schemas/contact-made.json", '{"type": "object", "required": ["email"]}')
    assert registry.check("contact-made", {"email": "a"}) == []
    assert registry.get("contact-made").warning == ""


def test_a_broken_file_without_a_good_form_is_named(write, home, cache) -> None:
    """Nothing is guessed: the error has file and line, and the other types work."""
    write("schemas/bad.json", '{\n  "type": "object",\n  "required" []\n}')
    registry = Registry(home, cache)

    with pytest.raises(BadHome, match=r"schemas/bad\.json:3"):
        registry.check("bad", {})
    registry.look()
    assert registry.check("contact-made", dict(LEAD)) == []


@pytest.mark.parametrize("data", [b"", b"junk", MARK, MARK + b"junk", MARK + b"i\x01\0\0\0"])
def test_a_damaged_cache_is_made_anew(home, cache, data) -> None:
    """Whatever stands in the cache, the answer is the file's."""
    Registry(home, cache).look()
    cache.save("schema/contact-made", data)

    assert Registry(home, cache).get("contact-made").required == ("email", "method")
    assert cache.load("schema/contact-made") != data


LIGHT = """
import sys
import time
from pathlib import Path
from fleet.schemas import Registry

class Folder:
    def load(self, name):
        path = Path(sys.argv[2]) / name.replace("/", "-")
        return path.read_bytes() if path.exists() else None
    def save(self, name, data):
        (Path(sys.argv[2]) / name.replace("/", "-")).write_bytes(data)

registry = Registry(Path(sys.argv[1]), Folder())
payload = registry.coerce("contact-made", {"email": "a@b", "method": "mail"})
assert registry.check("contact-made", payload) == []
assert registry.claim_key("contact-made", payload) == "lead:a@b"
heavy = ("jsonschema", "fastjsonschema", "hashlib", "decimal", "json", "ast", "inspect")
print([name for name in heavy if name in sys.modules])
"""


def test_a_fitting_event_needs_no_heavy_library(home, tmp_path) -> None:
    """Once compiled, checking a payload in a fresh process imports no schema library."""
    argv = [sys.executable, "-c", LIGHT, str(home), str(tmp_path)]
    subprocess.run(argv, check=True)

    done = subprocess.run(argv, check=True, capture_output=True, text=True)

    # dataclasses bring `inspect` (3.11); none of the others may come
    assert set(done.stdout.strip("[]\n").replace("'", "").split(", ")) <= {"", "inspect", "ast"}


def test_names_do_not_depend_on_the_files_being_valid(home, write, cache) -> None:
    """A broken type is still a type; a README, a backup and a stranger are none."""
    write("schemas/broken.json", "{")
    for other in ("README.md", "x.json~", ".hidden.json", "Upper.json", "a.yaml"):
        write(f"schemas/{other}", "{}")

    assert "broken" in Registry(home, cache).names()
    assert len(Registry(home, cache).names()) == 5
    assert Registry(Path("/nowhere"), cache).names() == []


def test_types_of_fleets_own_are_there_in_every_home(registry) -> None:
    """They are listed last, have a schema, need no file, and every payload is held to it."""
    kinds = {kind.name: kind for kind in registry.sound()}

    assert list(kinds)[-2:] == list(OWN) == ["question-answered", "reminder-due"]
    assert registry.get("reminder-due").required == ("text",)
    assert registry.check("reminder-due", {"text": "look"}) == []
    assert registry.check("reminder-due", {"text": 3}) != []
    assert registry.check("question-answered", {"text": "what?"}) != []
    assert set(OWN) <= TAKEN["schemas"]
    assert not set(OWN) & set(registry.names())
