"""What the stand-in takes for its outside world: made up, all of it, and finite.

Every list is what one agent would find in its folder or on the web. Nothing here names a real
person; the prices and products are inventions.
"""

from collections.abc import Mapping
from typing import NamedTuple

Fields = dict[str, str]


class Sight(NamedTuple):
    """One thing seen outside: the event it becomes, its fields, and what is posted about it."""

    type: str
    fields: Fields
    text: str = ""


LEADS = (
    "sarah@acme.example",
    "tom@harbor.example",
    "lena@quartz.example",
    "alex@beacon.example",
    "ines@tessera.example",
    "jonas@mill.example",
    "noor@atlas.example",
)

WAITING = "mike@startup.io"  # a lead who answered an older mail: reply-handler is in talks

REPLIES = ("interested", "objection", "question", "not-now", "accepts")

LEFT = {
    "paula@finch.example": "no comparison with Cursor when we chose",
    "omar@delta.example": "seat minimum too high for three people",
}

TRIALS = (Sight("lead-converted", {"email": "jess@corp.dev", "plan": "pro"}),)

COMPETITORS = (
    Sight(
        "pricing-change",
        {
            "competitor": "Cursor",
            "oldPrice": "$40",
            "newPrice": "$20",
            "source": "https://cursor.example/pricing",
        },
        "Cursor cut Pro from $40 to $20 a month (pricing page). Looks aimed at hobbyists. "
        "content-engine: worth a comparison?",
    ),
    Sight(
        "feature-launch",
        {
            "competitor": "Lumen",
            "feature": "shared rules",
            "summary": "one rule file for a whole team",
            "source": "https://lumen.example/changelog",
        },
        "Lumen ships shared rules: one file for a whole team, usable today.",
    ),
    Sight(
        "competitive-insight",
        {
            "competitor": "Northwind",
            "summary": "hires five people for on-premise installs",
            "source": "https://northwind.example/jobs",
            "credibility": "low",
        },
        "Northwind hires for on-premise installs. A direction, not a product.",
    ),
    Sight(
        "pricing-change",
        {
            "competitor": "Lumen",
            "oldPrice": "$15",
            "newPrice": "$19",
            "source": "https://lumen.example/pricing",
        },
        "Lumen raised its team plan from $15 to $19 a seat. competitor-gap: who is cheaper now?",
    ),
)

THREADS = (
    Sight(
        "reddit-insight",
        {
            "summary": "small teams share one login because of the seat minimum",
            "source": "https://reddit.example/r/devtools/1",
            "credibility": "medium",
            "score": "214",
        },
    ),
    Sight(
        "reddit-insight",
        {
            "summary": "people want the reason for a change beside the change",
            "source": "https://reddit.example/r/programming/2",
            "credibility": "high",
            "score": "97",
        },
    ),
)

REPOSITORIES = (
    Sight(
        "github-trend",
        {
            "repoName": "quill/agent-notes",
            "stars": "4210",
            "summary": "keeps an agent's notes as plain files; an idea for us",
        },
    ),
    Sight(
        "github-trend",
        {
            "repoName": "tern/review-bot",
            "stars": "1830",
            "summary": "reviews pull requests by rules; a rival for small teams",
        },
    ),
)

VOICES = (
    Sight(
        "customer-intel",
        {
            "summary": "three admins export by hand because invites expire",
            "source": "themes.md#export",
            "platform": "support",
        },
    ),
    Sight(
        "customer-intel",
        {
            "summary": "two reviews miss a price for teams below five",
            "source": "themes.md#small-teams",
            "platform": "review",
        },
    ),
)

USAGE = (
    Sight(
        "customer-intel",
        {
            "summary": "two teams stopped signing in after the import step",
            "source": "usage.csv",
            "platform": "product",
        },
        "N.W. (team): 14 sign-ins a week, now 3, since the import step. onboarding: a shorter way?",
    ),
)

SEGMENTS = ("teams-below-five", "trial-without-import", "came-from-a-competitor")

TOPICS = (
    "why small teams share one login",
    "what a review bot misses",
    "rules that a whole team keeps",
    "how to leave a tool without losing notes",
    "five seats or three",
    "what to log when an agent wakes",
    "prices that move and prices that stay",
    "reading a changelog as a rival",
    "an import that takes a minute",
    "when to answer an objection",
    "what on-premise really costs",
)

FORMS = ("listicle", "deep-dive")  # in which a topic can be written

MEASURED = 0.5  # seconds after its announcement at which the analytics have read a draft: a day
VIEWS: Mapping[str, int] = {"listicle": 110, "deep-dive": 450}  # what readers like, by form
OTHER_VIEWS = 200
LUCK = (80, 90, 100, 110, 125)  # per cent of it that one draft gets
