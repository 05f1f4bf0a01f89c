"""A text that YAML reads otherwise than a person is an error with the line and the remedy."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findings import MINIMAL, assert_says, errors, only
from fleet.config import yamltext


@pytest.mark.parametrize(
    ("text", "line", "what", "fix"),
    [
        ("schedule: */5 * * * *", 1, "begins with *", 'schedule: "*/5 * * * *"'),
        ("schedule: * * * * *", 1, "begins with *", "put quotes round the schedule"),
        ("model: a\nschedule: @daily", 2, "'@'", 'schedule: "@daily"'),
        ("prompt: {{ x }}", 1, "no word", 'prompt: "{{ x }}"'),
        ("description: a: b: c", 1, "a second ': '", 'description: "a: b: c"'),
        ('description: a: "b"', 1, "a second ': '", "description: 'a: \"b\"'"),
        ("prompt: %x", 1, "'%'", 'prompt: "%x"'),
        ("prompt: `x`", 1, "'`'", 'prompt: "`x`"'),
        ("prompt: !x y", 1, "YAML tag", 'prompt: "!x y"'),
        ("prompt: !!python/object:os.system x", 1, "YAML tag", "put quotes round"),
        ("prompt: *nothing", 1, "there is no &nothing before it", 'prompt: "*nothing"'),
        ("channels:\n  - ok\n  - @x", 3, "'@'", '- "@x"'),
        ("env:\n\tset: {}", 2, "a tab", "indent with spaces"),
        ("\tdescription: x", 1, "a tab", "indent with spaces"),
        ("description: x\n---\nprompt: y", 2, "a second document", "keep one"),
        ("tools: [Bash,\n  Read\nmodel: x", 1, "bracket that opens here", "close it"),
        ('model: x\ndescription: "never\nends', 2, "quote that opens here", "close it"),
        ("? [a]\n: b", 1, "a key that is no word", "quotes"),
        ("", 1, "the file is empty", "restore"),
        ("# nothing but a comment", 1, "the file is empty", "restore"),
        ("- a\n- b", 1, "no mapping", "description: …"),
        ("just words", 1, "no mapping", "description: …"),
        ("a: " + "[" * 40 + "]" * 40, 1, "deeper than 32", ""),
        ("a: " + "[" * 5000, 1, "deeper than 32", ""),
        ("a: \x1b[2J", 1, "does not allow (#x001b)", "remove it"),
        ('description: "a\\0b"', 1, "stands for no character", "take it out"),
        ('model: x\ndescription: "a\\ud800b"', 2, "stands for no character", "take it out"),
        ("model: a\nb: \0", 2, "a NUL byte", "UTF-8"),
    ],
)
def test_broken_yaml_names_the_line_and_the_remedy(home, write, *, text, line, what, fix) -> None:
    """A text that YAML reads otherwise than a person gives one line with the corrected words."""
    write("agents/outreach.yaml", text + "\n")

    assert_says(only(home), "agents/outreach.yaml", line, what, fix)


def test_bytes_that_are_no_utf8_are_named(home) -> None:
    """A file in another encoding is refused with the line of the first foreign byte."""
    (home / "agents/outreach.yaml").write_bytes(b"model: x\ndescription: caf\xe9\n")

    assert_says(only(home), "agents/outreach.yaml", 2, "byte 0xe9 is not UTF-8", "save the file")


@pytest.mark.parametrize(
    ("text", "line", "key", "first"),
    [
        (MINIMAL + "model: a\nmodel: b\n", 5, "model", 4),
        (MINIMAL + "budget: {per_run: 1, per_day: 2, per_run: 3}\n", 4, "per_run", 4),
        (MINIMAL + "env:\n  set:\n    A: x\n    B: y\n    A: z\n", 8, "A", 6),
        (MINIMAL + "expects:\n  any_of:\n    - file: a\n      file: b\n", 7, "file", 6),
    ],
)
def test_a_key_that_stands_twice_names_both_lines(home, write, *, text, line, key, first) -> None:
    """Neither of two equal keys wins in silence, at any depth."""
    write("agents/outreach.yaml", text)

    what = f"'{key}' stands here and on line {first}"
    assert_says(only(home), "agents/outreach.yaml", line, what, "keep one")


@pytest.mark.parametrize("empty", ["model:", "env:\n  set:", "collaborators:\n  -"])
def test_a_key_without_a_value_is_no_null(home, write, empty) -> None:
    """A line that ends after its colon is a mistake, not the absence of a value."""
    write("agents/outreach.yaml", MINIMAL + empty + "\n")

    finding = only(home)
    assert "has no value" in finding.what
    assert finding.line == 3 + empty.count("\n") + 1


def test_aliases_are_bounded(home, write) -> None:
    """A few hundred bytes of aliases cannot stand for a billion values."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join(['*' + below] * 9)}]\n"
        for below, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    write("agents/outreach.yaml", bomb)

    assert "aliases included" in only(home).what


def test_an_alias_within_bounds_is_read(home, write) -> None:
    """An anchor may be used again, and cannot hold itself."""
    write("agents/outreach.yaml", MINIMAL + "tools: &t [Bash, Read]\nallowed_tools: *t\n")
    assert errors(home) == []

    write("agents/outreach.yaml", MINIMAL + "tools: &t [*t]\n")
    assert "there is no &t before it" in only(home).what


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*":-?[]{},#&*!|>'\"%@`~\t\n\r ab0", "\n- ", ": ", "---\n", "\\u", "a: ", "*a", "&a "]
        )
    )
)
def test_no_text_makes_the_reader_raise(parts) -> None:
    """Whatever a file holds, the answer is a document or findings."""
    document, found = yamltext.read("".join(parts).encode(), "x.yaml")

    assert document or found


@settings(deadline=None)
@given(st.binary(max_size=64))
def test_no_bytes_make_the_reader_raise(data) -> None:
    """The same for bytes that are no text at all."""
    document, found = yamltext.read(data, "x.yaml")

    assert document or found
