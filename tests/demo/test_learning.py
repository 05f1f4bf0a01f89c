"""What content-engine makes next depends on what its section says, and on nothing else."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet.demo import world
from fleet.demo.show import learned
from fleet.demo.world import FORMS
from month import Month


def forms(month: Month) -> list[str]:
    """What was announced, by form, in order."""
    events = month.fleet.bus.events(type="content-ready", after=0, limit=100)
    payloads = [event.body["payload"] for event in events]
    return [str(payload["contentType"]) for payload in payloads if isinstance(payload, dict)]


def week(month: Month) -> None:
    """content-engine, then what was read of it, then three days, then content-engine again."""
    with month.clock():
        for name, days in (("content-engine", 1.0), ("collector", 3.0), ("content-engine", 0.0)):
            assert month.run(name, datetime.fromtimestamp(month.now, UTC)).outcome == "ok"
            month.now += days * 86400


def test_it_makes_more_of_what_was_read_more(tmp_path: Path) -> None:
    """Half listicles, half deep dives; once their views are known, deep dives only."""
    month = Month(tmp_path / "home")

    week(month)

    assert sorted(forms(month)[:6]) == sorted(FORMS * 3)
    assert set(forms(month)[6:]) == {"deep-dive"}
    assert learned(month.fleet) == (
        "3 listicles, 3 deep-dives, then 5 deep-dives"
        " after seeing that deep-dive had 3.7x the views of listicle"
    )


def test_other_numbers_lead_to_other_drafts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where readers like listicles it goes on with listicles: no form is wired in."""
    monkeypatch.setattr(world, "VIEWS", {"listicle": 900, "deep-dive": 30})
    month = Month(tmp_path / "home")

    week(month)

    assert set(forms(month)[6:]) == {"listicle"}


def test_without_the_section_it_learns_nothing(tmp_path: Path) -> None:
    """The same week with `metrics` taken out of the prompt changes nothing that it makes."""
    month = Month(tmp_path / "home")
    base = month.root / "prompts" / "base.md.j2"
    base.write_text(base.read_text().replace("memory, metrics,", "memory,"))

    week(month)

    assert sorted(forms(month)) == sorted(FORMS * 3)
    assert learned(month.fleet) == ""
