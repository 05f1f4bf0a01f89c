"""The stub answers as the API does, keeps sessions apart, and records what it was asked."""

import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest

from fleet.runner.probes.messages_stub import MessagesStub, Play, bash, fail, say

Start = Callable[..., MessagesStub]


def post(stub: MessagesStub, session: str, text: str, **more: Any) -> tuple[int, bytes]:
    """One request of a session."""
    connection = http.client.HTTPConnection(stub.url.removeprefix("http://"), timeout=10)
    body = {"model": "m", "tools": [{}], "messages": [{"role": "user", "content": text}], **more}
    headers = {"x-claude-code-session-id": session}
    try:
        connection.request("POST", "/v1/messages?beta=true", json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_each_session_walks_its_own_copy_of_the_play_that_matches(stub: Start) -> None:
    """Two sessions of one play and one of another each get their turns in order."""
    server = stub(Play([bash("x"), say("A2")], match="agent A"), Play([say("B1")], match="agent B"))

    said = [
        json.loads(post(server, session, text)[1])["content"][0]["text"]
        for session, text in [
            ("1", "agent A"),
            ("2", "agent B"),
            ("1", "agent B by now"),
            ("3", "agent A"),
            ("2", "agent B"),
        ]
    ]

    assert said == ["I will do it.", "B1", "A2", "I will do it.", "(the play is over)"]
    assert [(one.session, one.turn) for one in server.asked][-2:] == [("3", 0), ("2", -1)]


def test_a_play_may_depend_on_what_a_session_asks_first(stub: Start) -> None:
    """Turns that are made of the first request differ from session to session."""
    server = stub(Play(lambda asked: [say(f"You are {asked.news()}")]))

    said = [post(server, name, name)[1] for name in ("one", "two")]

    texts = [json.loads(body)["content"][0]["text"] for body in said]
    assert texts == ["You are one", "You are two"]


def test_a_stream_holds_the_whole_message(stub: Start) -> None:
    """Text and tool input arrive in deltas between a start and a stop, in the API's order."""
    status, body = post(stub(bash("ls", "Looking.")), "1", "go", stream=True)

    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line[:5] == "data:"]
    kinds = [event["type"] for event in events]
    assert (status, kinds[0], kinds[-2:]) == (
        200,
        "message_start",
        ["message_delta", "message_stop"],
    )
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert deltas[0] == {"type": "text_delta", "text": "Looking."}
    assert json.loads(deltas[1]["partial_json"]) == {"command": "ls"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_faults_are_the_apis(stub: Start) -> None:
    """A scripted error has its status, type and headers; a cut stream ends too early."""
    server = stub(fail(529, "overloaded_error", retry_after="2"), say("x", cut_after=2))

    status, body = post(server, "1", "go")
    assert (status, json.loads(body)["error"]["type"]) == (529, "overloaded_error")
    with pytest.raises(http.client.IncompleteRead):
        post(server, "1", "go", stream=True)


def test_what_is_new_is_what_follows_the_models_own_words(stub: Start) -> None:
    """`news` is the text after the model's last message, however it is wrapped."""
    server = stub(say("ok"))
    messages = [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": [{"type": "text", "text": "own"}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"text": "new"}]}]},
        {"role": "system", "content": "hint"},
    ]

    post(server, "1", "", messages=messages, system=[{"type": "text", "text": "rules"}])

    (asked,) = server.asked
    assert (asked.news(), asked.system()) == ("new\nhint", "rules")
    assert "old" in asked.everything()
