"""The section on the team: for whom it is, who comes first, what is cut."""

from collections.abc import Callable
from typing import Any

import pytest

from people import in_run

BASE = (
    "{% block context %}{{ you }}\n{{ team }}\n{% endblock %}{% block task %}Work.{% endblock %}\n"
)


@pytest.fixture
def world(world: Any) -> Any:
    """The small home, whose template prints the team."""
    world.template(BASE, "base.md.j2")
    return world


def _lines(text: str) -> dict[str, str]:
    """The line of each agent, by its name, in their order."""
    rows = [line for line in text.splitlines() if " | " in line]
    return {row.split(" | ")[0]: row for row in rows}


def test_only_who_asks_for_it_gets_it(world: Any, section: Callable[..., str]) -> None:
    """Without `team: true` there is no section, whatever the others did."""
    assert section("team") == ""
    assert _lines(section("team", world.agent(team=True))).keys() == {
        "reply-handler",
        "competitor-watch",
    }


def test_a_line_says_what_one_is_for_good_at_and_doing(
    world: Any, section: Callable[..., str]
) -> None:
    """State and age of the newest run, description, newest traits, report; nothing else kept."""
    handler = in_run("reply-handler", "keeping")
    for noun, text in (("strength", "old one"), ("strength", "Angry leads"), ("strength", "Calm")):
        world.memory.trait(handler, noun, text)
    world.memory.trait(handler, "weakness", "Long texts")
    world.memory.learn(handler, "a lesson of my own")
    world.run("ok", "reply-handler", text="answered 4")
    world.clock.wall += 7200

    lines = _lines(section("team", world.agent(team=True)))

    assert lines["reply-handler"] == (
        "reply-handler | ok 2h ago | Answers replies | good at: Calm; Angry leads"
        " | weak at: Long texts | reported: answered 4"
    )
    assert lines["competitor-watch"] == "competitor-watch | has not run yet | Watches competitors"
    context = world.build(world.agent(team=True))
    assert "a lesson of my own" not in context.context_md
    assert {"reply-handler/S2", "reply-handler/S3", "reply-handler/W4"} <= set(context.shown)
    assert "reply-handler/S1" not in context.shown


def test_who_fits_what_waits_comes_first(world: Any, section: Callable[..., str]) -> None:
    """Words of waiting events, of unread messages and of the own plan rank; then collaborators."""
    agent = world.agent(team=True)
    assert list(_lines(section("team", agent))) == ["reply-handler", "competitor-watch"]

    world.talk.send(in_run("reply-handler"), "outreach", "Which competitors should I mention?")

    assert list(_lines(section("team", agent))) == ["competitor-watch", "reply-handler"]


def test_those_that_are_off_are_left_out(world: Any, section: Callable[..., str]) -> None:
    """An agent with `enabled: false` does nothing for anybody."""
    agents = world.config.agents
    off = agents["competitor-watch"]._replace(enabled=False)
    world.config = world.config._replace(agents=agents | {"competitor-watch": off})

    assert list(_lines(section("team", world.agent(team=True)))) == ["reply-handler"]


@pytest.mark.parametrize("many", [14, 300])
def test_it_stays_within_its_tokens(world: Any, section: Callable[..., str], many: int) -> None:
    """Shorter texts first, then fewer agents, with how many there are more and how to see them."""
    one = world.config.agents["competitor-watch"]
    more = {
        f"agent-{n}": one._replace(id=f"agent-{n}", description=f"Does {n} " * 30)
        for n in range(many)
    }
    world.config = world.config._replace(agents=world.config.agents | more)
    context = world.build(world.agent(team=True))

    team = next(one for one in context.sections if one.name == "team")
    assert 400 < team.tokens <= 600
    assert team.items == len(_lines(team.text))
    left = many + 2 - team.items
    assert team.left_out == left
    assert (f"{left} more: fleet agents" in team.text) == bool(left)
    assert team.items == 16 or many == 300
