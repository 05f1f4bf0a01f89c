"""The repertoire of the stand-in: what each of the agents does about what it read.

A role is a function of a `Turn`. It looks at the events and messages of its prompt and at a made-up
outside world (`world`), and calls `fleet`. Roles are no advice on how agents should work: the
prompts of the growth home are.
"""

import time
from collections.abc import Callable, Iterable

from fleet.demo import world
from fleet.demo.prompt import Better, Event
from fleet.demo.turn import Turn
from fleet.records import rfc3339, wall_of

TRIAL = 6  # topics that content-engine writes in one run


def outreach(turn: Turn) -> None:
    """Mail the next leads, except those who answered, converted, or are somebody else's."""
    for event in turn.prompt.of("reply-received"):
        if event.fields.get("classification") == "objection":
            turn.say(f"I read {event.ref}: an objection to a mail of mine")
            turn.post("outreach-review", f"{event.ref} objects: was the opening too general?")
            turn.done.append(f"asked about the objection {event.ref}")
    known = {
        event.fields.get("email") for event in turn.prompt.of("reply-received", "lead-converted")
    }
    first = [world.WAITING] if turn.prompt.place == 0 else []
    for lead in [*first, *turn.outside(world.LEADS, 2)]:
        if lead in known:
            turn.say(f"{lead} is in my prompt already: no mail")
        elif turn.claim(f"lead:{lead}"):
            fields = {"email": lead, "method": "email", "subject": "a question about your reviews"}
            if turn.emit("contact-made", fields, once=f"demo-mail-{lead}"):
                turn.done.append(f"mailed {lead}")


def reply_handler(turn: Turn) -> None:
    """Answer those who were contacted; the one in talks stays claimed beyond the run."""
    for lead in turn.outside([world.WAITING], 1):
        if turn.claim(f"lead:{lead}", "--keep", "1h", "--note", "in talks"):
            turn.done.append(f"in talks with {lead}")
    for key in sorted(turn.prompt.held):
        turn.say(f"I still hold {key}")
    for event in turn.prompt.of("contact-made")[:3]:
        email = event.fields.get("email", "")
        turn.say(f"I read {event.ref}: {event.sender} wrote to {email}, who answers")
        if email and turn.claim(f"lead:{email}"):
            _handle_reply(turn, event, email)


def _handle_reply(turn: Turn, event: Event, email: str) -> None:
    word = turn.choice(world.REPLIES, email)
    fields = {"email": email, "classification": "interested" if word == "accepts" else word}
    if turn.emit("reply-received", fields, once=f"demo-reply-{email}", cause=event.ref):
        turn.done.append(f"{email}: {word}")
    if word == "accepts":
        bought = {"email": email, "plan": "pro"}
        turn.emit("lead-converted", bought, once=f"demo-won-{email}", cause=event.ref)
    turn.fleet("release", f"lead:{email}")


def onboarding(turn: Turn) -> None:
    """Announce a trial that paid, and write a plan for everybody who converted."""
    for sight in turn.outside(world.TRIALS, 1):
        turn.see(sight)
    for event in turn.prompt.of("lead-converted"):
        email = event.fields.get("email", event.ref)
        turn.say(f"I read {event.ref}: {email} converted")
        if turn.claim(f"onboarding:{email}", "--keep", "1h"):
            turn.write(
                f"plans/{email}.md", f"# Three steps for {email}\n1 import 2 invite 3 rule\n"
            )
            turn.post("outreach-review", f"{email} ({event.ref}) has a plan of three steps.")
            turn.done.append(f"planned for {email}")


def retention(turn: Turn) -> None:
    """Report who drifts away; connect what customers say with what the figures show."""
    for sight in turn.outside(world.USAGE, 1):
        turn.see(sight, "outreach-review")
    for event in turn.prompt.of("customer-intel", "campaign-created")[:1]:
        turn.say(f"I read {event.ref} ({event.type}): it may explain who leaves")
        turn.post("outreach-review", f"{event.ref} fits two of the teams at risk.")
        turn.done.append(f"matched {event.ref}")


def win_back(turn: Turn) -> None:
    """Write to one who left, when a campaign gives a reason that was not there before."""
    for event in turn.prompt.of("campaign-created")[:1]:
        turn.say(f"I read {event.ref}: something new for {event.fields.get('targetSegment')}")
        for email, reason in turn.outside(list(world.LEFT.items()), 1):
            if turn.claim(f"lead:{email}"):
                fields = {"email": email, "method": "win-back", "subject": reason}
                turn.emit("contact-made", fields, once=f"demo-back-{email}", cause=event.ref)
                turn.done.append(f"wrote to {email}, who left because: {reason}")


def competitor_watch(turn: Turn) -> None:
    """Report the next change that is visible outside; agree with a colleague's comparison."""
    for sight in turn.outside(world.COMPETITORS, 1):
        turn.see(sight, "competitive-intel")
    for event in turn.prompt.of("competitive-insight")[:1]:
        about = turn.message_about(event.fields.get("competitor", ""))
        if about is not None:
            turn.say(f"I read {about.ref}: it agrees with {event.ref}")
            turn.fleet("react", about.ref, "agree")
            turn.done.append(f"confirmed {event.ref}")


def competitor_gap(turn: Turn) -> None:
    """Say what a price or a feature means for the difference to us, in the thread about it."""
    for event in turn.prompt.of("pricing-change", "feature-launch", "github-trend")[:2]:
        name = event.fields.get("competitor") or event.fields.get("repoName") or event.ref
        turn.say(f"I read {event.ref} ({event.type}): what does it change against {name}?")
        if not turn.claim(f"gap:{name}"):
            continue
        verdict = _verdict(event)
        fields = {
            "competitor": name,
            "summary": verdict,
            "source": event.ref,
            "credibility": "high",
        }
        if turn.emit("competitive-insight", fields, once=f"demo-gap-{event.ref}", cause=event.ref):
            turn.done.append(f"compared with {name}")
        about = turn.message_about(name)
        if about is not None and about.channel == "competitive-intel":
            turn.fleet("reply", about.ref, f"In the matrix: {verdict}.")


def _verdict(event: Event) -> str:
    if event.type == "pricing-change":
        return (
            f"cheaper than us below five seats, at {event.fields.get('newPrice', 'the new price')}"
        )
    return "nothing changes the order of any row yet"


def marketing_strategist(turn: Turn) -> None:
    """Give one piece of work for a credible price change, and pin why."""
    for event in turn.prompt.of("pricing-change")[:1]:
        name = event.fields.get("competitor", event.ref)
        turn.say(f"I read {event.ref}: {name} moved its price, that moves a number of ours")
        task = {
            "taskId": f"answer-{_short(name)}",
            "assignedTo": "content-engine",
            "title": f"Compare us with {name} for teams below five",
        }
        if turn.emit("task-created", task, once=f"demo-task-{event.ref}", cause=event.ref):
            for old in turn.prompt.pins:  # a new priority takes the place of the last one
                turn.fleet("unpin", old)
            turn.post(
                "strategy",
                f"Priority: answer {name}'s price ({event.ref}) with a fair comparison. "
                "content-engine writes, everything else stays.",
                "--pin",
            )
            turn.done.append(f"decided to answer {name}")
    for event in turn.prompt.of("content-ready")[:1]:
        about = turn.message_about(event.fields.get("draftId", ""))
        if about is not None:
            turn.fleet("react", about.ref, "important")
            turn.done.append(f"marked {about.ref}")


def content_engine(turn: Turn) -> None:
    """Write the next topics and the best thing read, in the form that its own numbers favour."""
    better = turn.prompt.better
    if better:
        turn.say(f"my numbers say: {better.sort} has {better.times}x the views of {better.other}")
    _write_topics(turn, better)
    for event in _best_first(turn):
        subject = _subject(event)
        form = better.sort if better else "comparison" if "competitor" in event.fields else "how-to"
        draft = f"{_short(subject)}-{form}"
        turn.say(f"I read {event.ref} ({event.type}): claiming draft:{draft}")
        if not turn.claim(f"draft:{draft}", "--note", subject[:80]):
            continue
        title = f"What to know about {_short(subject).replace('-', ' ')}"
        if _write(turn, draft, form, title, source=event.ref):
            turn.post("content-collab", f"{draft} is ready, from {event.ref}: {subject}")
        return


def _write_topics(turn: Turn, better: Better | None) -> None:
    """At first some of each form; then none until the numbers say which form is read."""
    if better is None and turn.prompt.place:
        turn.say("no numbers on my forms yet: I take no topic")
        return
    for number, topic in enumerate(turn.outside(world.TOPICS, TRIAL)):
        form = better.sort if better else world.FORMS[number % len(world.FORMS)]
        _write(turn, f"{_short(topic)}-{form}", form, topic)


def _write(turn: Turn, draft: str, form: str, title: str, *, source: str = "") -> bool:
    turn.write(f"drafts/{draft}.md", f"# {title}\n\nSource: {source or 'my list'}\n")
    fields = {"draftId": draft, "contentType": form, "title": title}
    written = turn.emit("content-ready", fields, once=f"demo-draft-{draft}", cause=source)
    if written:
        turn.done.append(f"wrote {draft}")
    return written


def _best_first(turn: Turn) -> list[Event]:
    order = (
        "task-created",
        "pricing-change",
        "competitive-insight",
        "customer-intel",
        "reddit-insight",
    )
    return [event for kind in order for event in turn.prompt.of(kind)]


def _subject(event: Event) -> str:
    names = ("competitor", "title", "summary")
    return next((event.fields[name] for name in names if event.fields.get(name)), event.ref)


def growth_analyst(turn: Turn) -> None:
    """Count what was read and say it in one post."""
    counts: dict[str, int] = {}
    for event in turn.prompt.events:
        counts[event.type] = counts.get(event.type, 0) + 1
    if counts:
        line = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        newest = turn.prompt.events[-1].ref
        turn.say(f"I read up to {newest}: {line}")
        turn.post("content-collab", f"Since my last run: {line}. The newest is {newest}.")
        turn.done.append(f"counted {line}")


def campaign_manager(turn: Turn) -> None:
    """Make a campaign of a finished draft, for one segment."""
    for event in turn.prompt.of("content-ready")[:2]:
        draft = event.fields.get("draftId", "")
        turn.say(f"I read {event.ref}: {draft} is finished")
        if not draft or not turn.claim(f"campaign:{draft}"):
            continue
        segment = turn.choice(world.SEGMENTS, draft)
        turn.write(f"campaigns/{draft}.md", f"# {draft} to {segment}\n")
        fields = {"campaignId": draft, "targetSegment": segment, "draftId": draft}
        if turn.emit("campaign-created", fields, once=f"demo-campaign-{draft}", cause=event.ref):
            turn.done.append(f"prepared {draft} for {segment}")
        about = turn.message_about(draft)
        if about is not None and about.channel == "content-collab":
            turn.fleet("reply", about.ref, f"Goes to {segment}, subject lines in campaigns/.")


def reddit_scout(turn: Turn) -> None:
    """Report the next thread, and say when it explains something a colleague found."""
    for sight in turn.outside(world.THREADS, 1):
        turn.see(sight)
    _tell_connection(turn, turn.prompt.of("github-trend", "customer-intel"), "threads say the same")


def trend_scout(turn: Turn) -> None:
    """Report the next repository, and look again where a thread mentions one."""
    for sight in turn.outside(world.REPOSITORIES, 1):
        turn.see(sight)
    _tell_connection(turn, turn.prompt.of("reddit-insight"), "two repositories try to solve it")


def _tell_connection(turn: Turn, events: Iterable[Event], what: str) -> None:
    for event in list(events)[:1]:
        turn.say(f"I read {event.ref} ({event.type}): {what}")
        turn.post("agent-learning", f"{event.ref}: {what}.")
        turn.done.append(f"connected {event.ref}")


def customer_listener(turn: Turn) -> None:
    """Report the next theme; add what leads and outsiders say to it."""
    for sight in turn.outside(world.VOICES, 1):
        turn.see(sight)
    voices = turn.prompt.of("reddit-insight", "reply-received")
    if voices:
        turn.say(f"I read {voices[-1].ref}: another voice for my themes")
        turn.write("themes.md", "".join(f"- {event.ref} {event.type}\n" for event in voices))
        turn.done.append(f"sorted {len(voices)} voices")


def orchestrator(turn: Turn) -> None:
    """Give what nobody has picked up to one agent, once."""
    owners = {"lead-converted": "onboarding", "pricing-change": "campaign-manager"}
    for event in turn.prompt.of(*owners)[:1]:
        task = f"{event.type}-{event.ref.partition('#')[2]}"
        turn.say(f"I read {event.ref} ({event.type}): does anybody have it?")
        if turn.claim(f"route:{task}", "--keep", "1h"):
            fields = {
                "taskId": task,
                "assignedTo": owners[event.type],
                "title": f"See to {event.ref}, nobody has it yet",
            }
            turn.emit("task-created", fields, once=f"demo-route-{task}", cause=event.ref)
            turn.done.append(f"gave {event.ref} to {owners[event.type]}")
    for event in turn.prompt.of("campaign-created")[:1]:
        turn.post("strategy", f"{event.ref} is prepared: it waits for a person who sends it.")
        turn.done.append(f"announced {event.ref}")


def collector(turn: Turn) -> None:
    """Record how often each draft was read a little after it was announced."""
    known = {row["subject"] for row in turn.ask("metric", "show", "--json")}
    for event in turn.ask("events", "--type", "content-ready", "--json"):
        subject, form = event["subject"], event["payload"]["contentType"]
        measured = wall_of(event["at"]) + world.MEASURED
        if subject in known or measured > time.time():
            continue
        likes = world.VIEWS.get(form, world.OTHER_VIEWS)
        views = str(likes * turn.choice(world.LUCK, subject) // 100)
        once = ("--at", rfc3339(measured), "--id", f"demo-views-{subject}")
        if turn.fleet("metric", "record", subject, "views", views, *once) == 0:
            turn.done.append(f"measured {subject}")


def _short(text: str) -> str:
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return "-".join(words[:3])


ROLES: dict[str, Callable[[Turn], None]] = {
    "outreach": outreach,
    "reply-handler": reply_handler,
    "onboarding": onboarding,
    "retention": retention,
    "win-back": win_back,
    "competitor-watch": competitor_watch,
    "competitor-gap": competitor_gap,
    "marketing-strategist": marketing_strategist,
    "content-engine": content_engine,
    "growth-analyst": growth_analyst,
    "campaign-manager": campaign_manager,
    "reddit-scout": reddit_scout,
    "trend-scout": trend_scout,
    "customer-listener": customer_listener,
    "orchestrator": orchestrator,
    "collector": collector,
}
