"""Runs that never meet in time still do not do the same thing twice: claims outlive them."""

import json
from pathlib import Path

import pytest

from fleets import Scripted

MADE = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "contact-made",
    "description": "Agent contacted a lead",
    "type": "object",
    "required": ["email"],
    "properties": {"email": {"type": "string"}},
    "x-claim": "lead:{email}",
}
MAILS = {
    "kept": "fleet claim lead:a@b.c --keep 3d && echo $FLEET_AGENT >> ../../mails",
    "once": (
        "fleet claim lead:a@b.c --once 7d && echo $FLEET_AGENT >> ../../mails"
        " && fleet release lead:a@b.c --completed"
    ),
    "command": "fleet claim lead:a@b.c --once 7d -- sh -c 'echo $FLEET_AGENT >> ../../mails'",
    "guarded": (
        "fleet claim lead:a@b.c --keep 3d; fleet emit contact-made email=a@b.c"
        " && echo $FLEET_AGENT >> ../../mails"
    ),
}


@pytest.mark.parametrize("how", MAILS)
def test_a_lead_gets_one_mail(tmp_path: Path, how: str) -> None:
    """Three agents, one after the other, are due to mail the same lead: one mail goes out.

    The others hear who has it and go on with exit 6; the lead is free for the one that has it.
    """
    home = Scripted(tmp_path / "home")
    home.put("schemas/contact-made.json", json.dumps(MADE))
    names = ("outreach", "onboarding", "retention")
    for name in names:
        home.agent(
            name,
            f"cat > /dev/null; {MAILS[how]}; echo $? > code; echo done",
            'may_run: ["sh"]',
        )

    for name in names:
        done = home.call("run", name)
        assert done.returncode == 0, done.stdout + done.stderr

    assert (home.root / "mails").read_text().split() == ["outreach"]
    codes = [(home.root / "work" / name / "code").read_text().strip() for name in names]
    assert codes == ["0", "6", "6"]
    events = home.fleet.store.read("events", 0, 9).records
    assert [event.body["from_agent"] for event in events] == ["outreach"] * (how == "guarded")
    history = home.call("claims", "--history", "lead:a@b.c", "--json")
    assert {json.loads(line)["holder"] for line in history.stdout.splitlines()} == {"outreach"}
