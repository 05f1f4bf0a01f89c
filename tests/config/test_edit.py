"""Edits of the operator's YAML touch nothing that they are not about."""

import difflib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.config import yamltext
from fleet.config.edit import Edit
from fleet.errors import Rejected

AGENT = """\
# who writes first
description: "Writes mails"   # one line
schedule: '0 */2 * * *'
collaborators: [ reply-handler,onboarding , "marketing-strategist" ]  # whose state it sees
interests:
  - contact-made   # its own
  - lead-converted

  - 'reply-received'
budget:
    per_run: 0.80
    per_day:   5.00   # dollars
context: {max_tokens: 6000, sections: {events: {max_items: 50}}}
# the end
"""

words = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
comments = st.sampled_from(["", "  # why", "   #"])


@st.composite
def lists(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A file with one list of names in some style, and the names."""
    names = draw(st.lists(words, min_size=1, max_size=5, unique=True))
    written = [draw(st.sampled_from([n, f'"{n}"', f"'{n}'"])) for n in names]
    if draw(st.booleans()):
        gap = draw(st.sampled_from([", ", ",", " , ", ",\n    ", ", # it\n    "]))
        body = f"names: [{gap.join(written)}]{draw(comments)}\n"
    else:
        indent = draw(st.sampled_from(["", "  ", "    "]))
        body = "names:\n" + "".join(f"{indent}- {w}{draw(comments)}\n" for w in written)
    text = f"# top\nfirst: 1{draw(comments)}\n{body}last: {{a: 1}}\n# end\n"
    return (text.replace("\n", "\r\n") if draw(st.booleans()) else text), names


@given(lists(), st.data(), words)
def test_a_name_is_replaced_and_nothing_else(
    file: tuple[str, list[str]], data: st.DataObject, new: str
) -> None:
    """After a rename the file is the old one with that word exchanged, byte for byte."""
    text, names = file
    index = data.draw(st.integers(0, len(names) - 1))
    edit = Edit(text.encode(), "f")

    edit.replace(("names", index), new)

    changed = edit.data.decode()
    begin, end = _parts(text, changed)
    assert text[begin:][: len(text) - begin - end].strip("'\"") in names[index]
    assert edit.tree["names"] == [*names[:index], new, *names[index + 1 :]]


@given(lists(), st.data())
def test_a_name_is_taken_out_and_its_neighbours_stay(
    file: tuple[str, list[str]], data: st.DataObject
) -> None:
    """What is left of the file stands there in its order, and the list lacks one name."""
    text, names = file
    index = data.draw(st.integers(0, len(names) - 1))
    edit = Edit(text.encode(), "f")

    edit.remove(("names", index))

    assert edit.tree["names"] == [*names[:index], *names[index + 1 :]]
    kept = list(difflib.ndiff(text.splitlines(), edit.data.decode().splitlines()))
    touched = [line for line in kept if line.startswith(("- ", "+ "))]
    assert all(line[2:3] not in {"#", "f", "l"} for line in touched), touched


@given(lists(), words)
def test_a_name_is_added_at_the_end(file: tuple[str, list[str]], new: str) -> None:
    """An added name is the last one, and every line that was there is still there."""
    text, names = file
    edit = Edit(text.encode(), "f")

    edit.append(("names",), new)

    assert edit.tree["names"] == [*names, new]
    begin, end = _parts(text, edit.data.decode())
    assert begin + end >= len(text)


@pytest.mark.parametrize(
    ("path", "written", "value"),
    [
        (("description",), "Writes: many mails", "Writes: many mails"),
        (("schedule",), "*/5 * * * *", "*/5 * * * *"),
        (("schedule",), "{every: 6h}", {"every": "6h"}),
        (("interests",), "[contact-made]", ["contact-made"]),
        (("budget", "per_day"), "7", "7"),
        (("budget", "tokens_per_day"), "1000", "1000"),
        (("context", "sections", "memory"), "{max_tokens: 10}", {"max_tokens": "10"}),
        (("retries", "max"), "3", "3"),
        (("quiet",), '"22:00-06:00"', "22:00-06:00"),
        (("model",), "null", None),
    ],
)
def test_a_field_is_set_and_the_rest_stays(
    path: tuple[str, ...], written: str, value: object
) -> None:
    """A field that is there, one that is not, and one below a part that is not: all in place."""
    edit = Edit(AGENT.encode(), "f")

    edit.put(path, written)

    said: object = edit.tree
    for part in path:
        assert isinstance(said, dict)
        said = said[part]
    assert said == value
    comments_before = [line for line in AGENT.splitlines() if line.startswith("#")]
    assert [line for line in edit.data.decode().splitlines() if line.startswith("#")] == (
        comments_before
    )
    begin, end = _parts(AGENT, edit.data.decode())
    assert len(AGENT) - begin - end <= len("  - contact-made   # its own\n") * 4


def test_what_stands_behind_an_alias_is_left_to_a_person() -> None:
    """A name that several places share by an alias is not edited: it would change them all."""
    edit = Edit(b"a: &team [x, y]\nb: *team\n", "agents/a.yaml")

    with pytest.raises(Rejected, match=r"agents/a\.yaml: b\.0 cannot be reached"):
        edit.replace(("b", 0), "z")


def test_bytes_at_the_edges_stay() -> None:
    """A byte-order mark, a file without a last line feed and typed text in any script stay."""
    edit = Edit(b"\xef\xbb\xbfdescription: \xc3\x9cber alles", "f")

    edit.put(("prompt",), "base.md.j2")

    assert edit.data == b"\xef\xbb\xbfdescription: \xc3\x9cber alles\nprompt: base.md.j2\n"
    assert json.dumps(yamltext.read(edit.data, "f")[1]) == "[]"


def _parts(old: str, new: str) -> tuple[int, int]:
    """How many characters at the beginning, and then at the end, are the same."""
    begin = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    rest_old, rest_new = old[begin:][::-1], new[begin:][::-1]
    end = next(
        (i for i, (a, b) in enumerate(zip(rest_old, rest_new, strict=False)) if a != b),
        min(len(rest_old), len(rest_new)),
    )
    return begin, end
