"""Numbers from the command line, on real files: record, show, and what is said of them."""

import json
from pathlib import Path

import pytest

from calls import call, many
from cli.conftest import RunEnv, Shaped
from conftest import Write

SCHEMA = json.dumps(
    {
        "type": "object",
        "required": ["draftId"],
        "properties": {"draftId": {"type": "string"}, "title": {"type": "string"}},
        "x-subject": "{draftId}",
    }
)


@pytest.fixture
def shop(home: Path, write: Write) -> Path:
    """The small home, whose drafts are subjects."""
    write("schemas/content-ready.json", SCHEMA)
    return home


def test_a_number_is_recorded_and_shown(shop: Path, run_env: RunEnv, shaped: Shaped) -> None:
    """A run announces, an operator records; `show` gives both in plain lines and as JSON."""
    env = run_env("outreach")
    announced, recorded, older, plain, as_json = many(
        shop,
        [
            call("emit", "content-ready", "draftId=draft-17", "title=T", **env),
            call("metric", "record", "draft-17", "views", "1200"),
            call("metric", "record", "draft-17", "views", "900.5", "--at", "3h", "--json"),
            call("metric", "show"),
            call("metric", "show", "draft-17", "--json"),
        ],
    )

    assert (announced.code, recorded.code, older.code) == (0, 0, 0), (announced, recorded, older)
    assert recorded.out == "metrics#1\n"
    shaped("written", older.out)
    head, body = plain.out.splitlines()
    assert head.startswith("metrics#1 · ")
    assert head.endswith(" · draft-17 views 1200 · operator")
    assert body == "  events#1 content-ready by outreach"
    rows = shaped("metric", as_json.out)
    assert [row["value"] for row in rows] == [1200, 900.5]
    assert rows[0]["announced"]["ref"] == "events#1"


def test_in_a_run_it_says_what_was_recorded_and_what_is_unlinked(
    shop: Path, run_env: RunEnv
) -> None:
    """One line; a subject that no event announced is taken, and the nearest one is named."""
    env = run_env("outreach")
    done = many(
        shop,
        [
            call("emit", "content-ready", "draftId=draft-17", **env),
            call("metric", "record", "draft-17", "views", "1", **env),
            call("metric", "record", "draft17", "views", "1", **env),
            call("metric", "show", **env),
            call("metric", "show", "--json", **env),
        ],
    )

    assert [one.code for one in done] == [0] * 5
    assert done[1].out == "recorded metrics#1: draft-17 views 1\n"
    assert done[2].out == (
        "recorded metrics#2: draft17 views 1"
        " (unlinked: no event announced it, did you mean 'draft-17'?)\n"
    )
    assert "  unlinked\n" in done[3].out
    assert json.loads(done[4].out.splitlines()[1])["announced"] is None


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["draft-1", "views", "NaN"], 3, "write digits only"),
        (["draft-1", "views", "12%"], 3, "write digits only"),
        (["draft-1", "Views", "1"], 3, "use a-z"),
        (["draft-1", "views", "1", "--at", "2999-01-01"], 3, "in the future"),
        (["draft-1", "views", "1", "--at", "soon"], 2, "--at: 'soon' is no moment"),
        (["draft-1", "views"], 2, "fleet metric record draft-17 views 1200"),
    ],
)
def test_what_cannot_be_recorded_is_refused_in_one_line(
    shop: Path, words: list[str], code: int, said: str
) -> None:
    """Exit code and the way to say it right; nothing is stored."""
    refused, shown = many(shop, [call("metric", "record", *words), call("metric", "show")])

    assert (refused.code, refused.out, refused.err.count("\n")) == (code, "", 1)
    assert said in refused.err
    assert shown.out == ""


def test_a_repeated_id_and_a_negative_number(shop: Path) -> None:
    """`--id` twice is one record, another value under it is refused; `-5` is no option."""
    first, again, other, minus, shown = many(
        shop,
        [
            call("metric", "record", "d", "views", "5", "--id", "d/views/1"),
            call("metric", "record", "d", "views", "5", "--id", "d/views/1"),
            call("metric", "record", "d", "views", "6", "--id", "d/views/1"),
            call("metric", "record", "d", "delta", "-5"),
            call("metric", "show", "--json"),
        ],
    )

    assert (first.out, again.out, minus.out) == ("metrics#1\n", "metrics#1\n", "metrics#2\n")
    assert other.code == 3
    assert [json.loads(line)["value"] for line in shown.out.splitlines()] == [5, -5]


def test_filters_and_what_is_left_out(shop: Path) -> None:
    """--name, --agent and --limit; what is cut is said with the command; a typo is named."""
    calls = [call("--as", "outreach", "emit", "content-ready", "draftId=d1")]
    calls += [call("metric", "record", f"d{n}", "views", str(n)) for n in range(1, 4)]
    calls += [call("metric", "record", "d1", "clicks", "9")]
    calls += [
        call("metric", "show", "--name", "views", "--limit", "2"),
        call("metric", "show", "--agent", "outreach", "--json"),
        call("metric", "show", "--agent", "outraech"),
        call("metric", "show", "--agent", "reply-handler"),
    ]

    *_, cut, own, typo, none = many(shop, calls)

    assert "d2 views 2" in cut.out
    assert "d1 views 1" not in cut.out
    assert cut.out.splitlines()[-1] == "more: fleet metric show --name views --limit 20"
    assert [json.loads(line)["name"] for line in own.out.splitlines()] == ["views", "clicks"]
    assert typo.code == 4
    assert "did you mean 'outreach'?" in typo.err
    assert (none.code, none.out) == (0, "")


def test_who_is_told_a_number_can_look_it_up(shop: Path, run_env: RunEnv) -> None:
    """`show`, `find` and `seen` answer an agent about a number that somebody else recorded."""
    env = run_env("outreach")
    _, shown, found, seen = many(
        shop,
        [
            call("metric", "record", "draft-17", "views", "1200"),
            call("show", "metrics#1", **env),
            call("find", "draft-17", **env),
            call("seen", "metrics#1"),
        ],
    )

    assert shown.code == 0, shown.err
    assert "value: 1200" in shown.out
    assert "metrics#1" in found.out
    assert (seen.code, seen.out) == (0, "no run was shown metrics#1\n")
