"""retract from the command line: what it prints, and how others then show the record."""

from pathlib import Path

from calls import call, many


def test_a_record_is_taken_back_and_marked(home: Path, shaped) -> None:
    """Retract says what goes and who is told; people still read the record, with the reason."""
    done = many(
        home,
        [
            call("post", "strategy", "Cursor is free"),
            call("emit", "pricing-change", "competitor=Cursor", "newPrice=$0"),
            call("retract", "strategy#1", "--reason", "wrong page", "--dry-run", "--json"),
            call("retract", "strategy#1", "--reason", "wrong page"),
            call("retract", "strategy#1", "--reason", "again"),
            call("retract", "events#1", "--reason", "wrong page", "--json"),
            call("read", "strategy", "--json"),
            call("events"),
            call("--as", "outreach", "read", "strategy"),
            call("--as", "outreach", "events"),
            call("retract", "strategy#1"),
            call("undo", "strategy#1"),
        ],
    )
    said = [one.out for one in done]

    assert [one.code for one in done] == [0] * 10 + [2, 2], done
    (dry,), (event,) = shaped("retracted", said[2]), shaped("retracted", said[5])
    assert (dry["dry_run"], dry["taken"]) == (True, [{"ref": "strategy#1", "what": "message"}])
    assert event["taken"] == [{"ref": "events#1", "what": "pricing-change"}]
    assert said[3] == "retracted strategy#1: wrong page\n  taken back: 1 message\n"
    assert said[4] == "nothing new: strategy#1 was retracted before: wrong page\n"
    assert [one["retracted"] for one in shaped("message", said[6])] == ["wrong page"]
    assert said[7].splitlines()[0].endswith(" · retracted: wrong page")
    assert said[8:10] == ["", ""]
    assert "--reason" in done[10].err
    assert "fleet retract strategy#1" in done[11].err
