"""A memory from the command line: what a change answers, what is shown, and to whom."""

import json
from pathlib import Path

from calls import Done, call, many
from fleet.wiring import open_fleet

AS = ("--as", "outreach")


def each(home: Path, *lines: list[str], **env: str) -> list[Done]:
    """The answers to so many lines."""
    return many(home, [call(*words) for words in lines], env)


def test_a_change_in_a_run_answers_one_line(home: Path, run_env) -> None:
    """In a run each change says in words what became of it, on one line."""
    lines = {
        ("lesson", "add", "Short lines win", "--importance", "high"): "learned L1 (lesson 1 of 50)",
        ("lesson", "failure", "SHORT lines  win."): "merged into L1, now 2 times: it says the same",
        ("goal", "add", "Ten replies"): "noted G3 (goal 1 of 15)",
        ("goal", "progress", "G3", "four", "--value", "4"): "noted for G3",
        ("goal", "achieve", "outreach/g3"): "achieved G3",
        ("research", "add", "No plan", "--source", "page"): "noted R6 (research 1 of 30)",
        ("strength", "add", "Lines", "--lesson", "L1"): "noted S7 (strength 1 of 15)",
        ("strength", "drop", "S7"): "dropped S7, the archive keeps it",
        ("memory", "plan", "add", "Test"): "noted P9 (plan 1 of 10)",
        ("memory", "plan", "note", "P9", "- begun"): "noted for P9",
        ("weakness", "add", "Long mails"): "noted W11 (weakness 1 of 15)",
        ("goal", "add", "A second"): "noted G12 (goal 1 of 15)",
        ("goal", "abandon", "G12", "--reason", "dry"): "abandoned G12",
    }

    done = each(home, *map(list, lines), **run_env("outreach"))

    assert [(one.code, one.err) for one in done] == [(0, "")] * len(lines)
    assert [one.out for one in done] == [f"{line}\n" for line in lines.values()]


def test_what_left_is_named(home: Path, run_env) -> None:
    """The command that pushed something out says what, and the archive lists it."""
    env = run_env("outreach")
    done = each(home, *(["memory", "plan", "add", f"plan {n}"] for n in range(11)), **env)
    assert done[-1].out == "noted P11 (plan 10 of 10) · to the archive: P1 'plan 0'\n"

    (shown,) = each(home, ["memory", "show", "--archive"], **env)

    assert shown.out.startswith("P1 · plan · ")
    assert shown.out.endswith("\n  plan 0\n")


def test_what_was_told_is_not_learned(home: Path, run_env) -> None:
    """A lesson from the run's own prompt is exit 0 with a line that says so, and no record."""
    env = run_env("outreach")
    each(home, [*AS, "lesson", "add", "Short subject lines win"])
    folder = home / "state" / "run" / env["FLEET_RUN_ID"]
    (folder / "context.md").write_text(
        "outreach/L1 · short subject lines win\nCursor cut Pro to $20"
    )
    lines = ["short subject lines win", "cursor cut PRO"]

    done = each(home, *(["lesson", "add", line] for line in lines), **env)
    as_json = each(home, *(["lesson", "add", line, "--json"] for line in lines), **env)

    assert [(one.code, one.out) for one in done] == [
        (0, "L1 says it already, and so does your prompt: nothing to learn\n"),
        (0, "not learned: it only repeats your prompt\n"),
    ]
    said = [json.loads(one.out) for one in as_json]
    assert [(one["how"], one["ref"], one["seq"]) for one in said] == [
        ("known", "outreach/L1", None),
        ("repeated", None, None),
    ]
    assert open_fleet(home, env={}).store.head("memory-log/outreach") == 1


def test_json_has_its_shapes(home: Path, shaped) -> None:
    """Each `--json` of the memory is what its schema says; a plain pipe gets the reference."""
    lines = [
        ["lesson", "add", "Short lines win"], ["goal", "add", "Ten replies"],
        ["goal", "progress", "G2", "four", "--value", "4.5"], ["memory", "plan", "add", "Test"],
        ["memory", "plan", "note", "P4", "x"], ["research", "add", "No plan", "--source", "page"],
        ["strength", "add", "Lines", "--lesson", "L1"], ["weakness", "add", "x"],
        ["weakness", "drop", "W8"],
    ]  # fmt: skip
    written = each(home, *([*AS, *words, "--json"] for words in lines))
    plain, memory, archive, reverted = each(
        home,
        [*AS, "lesson", "add", "another"],
        [*AS, "memory", "show", "--json"],
        ["memory", "show", "--agent", "outreach", "--archive", "--json"],
        ["memory", "revert", "--run", "r1", "--agent", "outreach", "--json"],
    )

    for one in written:
        assert len(shaped("remembered", one.out)) == 1
    assert plain.out == "outreach/L10\n"
    (state,) = shaped("memory", memory.out)
    stored = json.loads((home / "state" / "memory" / "outreach.json").read_text())
    assert state == stored["body"]
    assert [one["id"] for one in shaped("archived", archive.out)] == ["W8"]
    assert shaped("reverted", reverted.out)[0]["gone"] == []


def test_paging_shows_everything_once(home: Path, run_env) -> None:
    """Inside a run a read is at most 20 items and ends with the command that goes on."""
    env = run_env("outreach")
    fleet = open_fleet(home, env={}, as_agent="outreach")
    for number in range(30):
        fleet.memory.learn(fleet.author, f"lesson {number}")
    words, seen = ["memory", "show"], []
    while words:
        (done,) = each(home, words, **env)
        lines = done.out.splitlines()
        seen += [line.strip() for line in lines if line.startswith("  lesson")]
        more = [line for line in lines if line.startswith("more: fleet ")]
        words = more[0].removeprefix("more: fleet ").split() if more else []
        assert len([line for line in lines if line.startswith("L")]) <= 20

    assert seen == [f"lesson {number}" for number in range(29, -1, -1)]


WRONG: list[tuple[list[str], int, str]] = [
    (["memory", "show", "--agent", "reply-handler"], 5, "fleet memory show shows yours"),
    (["memory", "revert", "--run", "outreach"], 5, "operators"),
    (["memory"], 2, "say fleet memory show, or fleet memory plan"),
    (["goal", "achieve", "reply-handler/G1"], 5, "is reply-handler's, you are outreach"),
    (
        ["goal", "achieve", "G9"],
        4,
        "no goal G9: fleet memory show lists what there is",
    ),
    (["goal", "achieve", "L1"], 2, "L1 is a lesson, no goal: their ids begin with G"),
    (["goal", "achieve", "one"], 2, "'one' is no item of a memory: write it like L12 or"),
    (["lesson", "add", "x", "--category", "sucess"], 3, "did you mean 'success'?"),
    (["lesson", "add", "x" * 601], 3, "the lesson has 601 bytes, the limit is 600"),
    (["lesson", "add"], 2, "say fleet lesson add 'TEXT'"),
    (["research", "add", "x"], 2, "--source"),
    (["research", "add", "x", "--source", " "], 3, "a source without text"),
    (
        ["goal", "progress", "G1", "x", "--value", "nan"],
        3,
        "nan is no number: give digits: --value 4",
    ),
    (["lesson", "ad", "x"], 2, "there is no 'fleet lesson ad'"),
    (["memory", "remember", "x"], 2, "fleet weakness add TEXT"),
]


def test_what_is_wrong_is_said_with_what_is_right(home: Path, run_env) -> None:
    """Each refusal is one line with its exit code, and changes nothing."""
    each(home, [*AS, "goal", "add", "Ten replies"])

    done = each(home, *(words for words, _, _ in WRONG), **run_env("outreach"))

    for (words, code, said), one in zip(WRONG, done, strict=True):
        assert (one.code, one.out) == (code, ""), (words, one)
        assert said in one.err, (words, one)
        assert len(one.err.splitlines()) == 1
    assert open_fleet(home, env={}).store.head("memory-log/outreach") == 1


def test_who_drops_twice_is_shown_no_other_item(home: Path) -> None:
    """An id that is gone, or never was, is answered without the id of another item."""
    each(home, *([*AS, "lesson", "add", f"lesson {n}"] for n in range(3)))
    each(home, *([*AS, "memory", "plan", "add", f"plan {n}"] for n in range(11)))
    each(home, [*AS, "lesson", "drop", "L2"])
    words = [["lesson", "drop", "L2"], ["lesson", "drop", "L60"], ["memory", "plan", "drop", "P4"]]
    words += [["strength", "drop", "S1"]]

    done = each(home, *([*AS, *one] for one in words))

    assert [(one.code, one.err) for one in done] == [
        (4, "fleet: L2 was dropped already: it is in fleet memory show --archive\n"),
        (4, "fleet: outreach has no lesson L60: fleet memory show lists what there is\n"),
        (4, "fleet: P4 left for want of a place: it is in fleet memory show --archive\n"),
        (4, "fleet: outreach has no strength S1: fleet memory show lists what there is\n"),
    ]


def test_a_lost_log_does_not_empty_the_memory(home: Path) -> None:
    """Show, context and verify name a memory whose log was lost (exit 8); a change keeps it all."""
    each(home, *([*AS, "lesson", "add", f"lesson {n}"] for n in range(3)))
    (segment,) = (home / "state" / "memory-log" / "outreach").glob("*.jsonl")
    segment.write_bytes(b"")
    document = home / "state" / "memory" / "outreach.json"
    before = document.read_bytes()
    looks = [[*AS, "memory", "show"], [*AS, "memory", "show", "--json"], ["context", "outreach"]]

    told = each(home, *looks, ["verify"])
    kept = document.read_bytes()
    done, after = each(home, [*AS, "lesson", "add", "the next"], [*AS, "memory", "show"])

    said = "memory-log/outreach lost records: state/memory/outreach.json holds it up to 3"
    assert [(one.code, said in one.out + one.err) for one in told] == [(8, True)] * 4
    assert (done.code, kept) == (0, before)
    assert [f"lesson {n}" in after.out for n in range(3)] == [True] * 3
    assert after.code == 0


def test_people_look_and_act_for_an_agent(home: Path) -> None:
    """A person says whose memory, and writes one only in an agent's name; texts come by pipe."""
    done = many(
        home,
        [
            call("lesson", "add", "x"),
            call("memory", "show"),
            call("memory", "show", "--agent", "outreech"),
            call("memory", "show", "--agent", "reply-handler"),
            call(*AS, "lesson", "add", "-", stdin="From a pipe, `with` $signs"),
            call("memory", "show", "--agent", "outreach"),
        ],
    )

    assert [one.code for one in done] == [5, 2, 4, 0, 0, 0]
    assert "fleet --as AGENT lesson add" in done[0].err
    assert "fleet memory show --agent AGENT" in done[1].err
    assert "did you mean 'outreach'?" in done[2].err
    assert done[3].out == "reply-handler keeps nothing\n"
    assert "  From a pipe, `with` $signs\n" in done[5].out


def test_a_person_reverts_a_run(home: Path, run_env) -> None:
    """What the run learned is out, by the run's reference; a second time there is nothing to do."""
    env = run_env("outreach")
    run = env["FLEET_RUN_ID"]
    each(home, ["lesson", "add", "nonsense"], ["goal", "add", "more nonsense"], **env)
    fleet = open_fleet(home, env={})
    fleet.runs.start(fleet.author, "outreach", run, slot="hand:1")

    first, again = each(home, *[["memory", "revert", "--run", "outreach"]] * 2)

    assert first.out == f"reverted {run} in outreach's memory: out L1, G2\n"
    assert again.out == f"{run} changed nothing in outreach's memory\n"
    assert (first.code, again.code) == (0, 0)


def test_a_document_that_cannot_be_written_is_said(home: Path, run_env) -> None:
    """The lesson stands in the log: exit 0, and a second line says what is not written and when."""
    env = run_env("outreach")
    (home / "state" / "memory").rmdir()
    (home / "state" / "memory").write_text("a file where a folder should be")

    (done,) = each(home, ["lesson", "add", "x"], **env)

    assert (done.code, done.out) == (0, "learned L1 (lesson 1 of 50)\n")
    assert "memory/outreach is written with the next change" in done.err


def test_a_repeated_lesson_never_looks_like_a_new_one(home: Path, shaped) -> None:
    """In a pipe the reference stays alone on the output, and a line beside it says: merged."""
    said = [*AS, "lesson", "add", "Short lines win"]
    first, again, as_json = each(home, said, said, [*said, "--json"])

    assert (first.out, first.err) == ("outreach/L1\n", "")
    assert again.out == "outreach/L1\n"
    assert again.err == "fleet: merged into L1, now 2 times: it says the same\n"
    (change,) = shaped("remembered", as_json.out)
    assert (change["how"], change["count"], as_json.err) == ("merged", 3, "")
