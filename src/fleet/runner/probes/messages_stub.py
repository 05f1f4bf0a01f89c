"""A stand-in for the Messages API: plays scripted turns to the real CLI, and records what it asks.

It listens on loopback only and is no model; `fleet doctor --claude` and the tests put it in the
model's place. A *play* is a list of turns for the sessions whose first request matches its pattern;
each session walks its own copy, one turn for each request, so a request that the CLI repeats takes
the next turn.

    with MessagesStub([Play([bash("fleet inbox"), say("Done.")])]) as stub:
        run_the_cli(env=stub.environ())
    stub.asked[1].news()        # what the model got to read after its tool call
"""

import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

USAGE = {"input_tokens": 100, "output_tokens": 20}
KEY = "made-up-key-for-the-stub"


@dataclass(frozen=True)
class Turn:
    """One answer of the model, or a fault in its place.

    Attributes:
        text: what it says, before any tool call.
        tools: (name, input) of each tool that it calls.
        status: an HTTP status other than 200 makes the answer an API error.
        kind: the error's type, `overloaded_error` for one.
        headers: more headers of the answer.
        delay: seconds before the answer.
        cut_after: drop the connection after so many events of the stream.
        stop_reason: None says `tool_use` with tools and `end_turn` without.
    """

    text: str = ""
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    status: int = HTTPStatus.OK
    kind: str = "api_error"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut_after: int | None = None
    stop_reason: str | None = None


def say(text: str, **more: Any) -> Turn:
    """A turn that only speaks: the last one of most plays."""
    return Turn(text, **more)


def bash(command: str, text: str = "I will do it.", **more: Any) -> Turn:
    """A turn that calls Bash."""
    return Turn(text, (("Bash", {"command": command}),), **more)


def call(tool: str, text: str = "I will do it.", **given: Any) -> Turn:
    """A turn that calls another tool."""
    return Turn(text, ((tool, given),))


def fail(status: int, kind: str, message: str = "scripted", **headers: str) -> Turn:
    """An API error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Turn(message, status=status, kind=kind, headers=named)


@dataclass(frozen=True)
class Asked:
    """A request for a model's answer, as it came.

    Attributes:
        session: the CLI's session id.
        turn: which turn of its play it was answered with, from 0.
        body: the request's JSON.
    """

    session: str
    turn: int
    body: dict[str, Any]

    def system(self) -> str:
        """The system prompt as text."""
        return text_of(self.body.get("system", ""))

    def everything(self) -> str:
        """All text of the request: system prompt and messages."""
        return "\n".join([self.system(), *(text_of(one) for one in self.body["messages"])])

    def news(self) -> str:
        """All text since the model's own last message: tool results, what hooks added."""
        messages = self.body["messages"]
        own = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
        return "\n".join(text_of(one) for one in messages[own[-1] + 1 if own else 0 :])


@dataclass(frozen=True)
class Play:
    """Turns for the sessions whose first request's text has a match of `match`.

    Attributes:
        turns: the turns, or what makes them of a session's first request.
        match: a regular expression; "." is any character.
    """

    turns: Sequence[Turn] | Callable[[Asked], Sequence[Turn]]
    match: str = ""

    def begin(self, asked: Asked) -> Iterator[tuple[int, Turn]]:
        """The numbered turns of a new session."""
        return enumerate(self.turns(asked) if callable(self.turns) else self.turns)


def text_of(content: Any) -> str:
    """The text in a message's content, however it is nested."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or "")
    return str(content)


class MessagesStub:
    """The server; a context manager that listens while it is entered."""

    def __init__(self, plays: Sequence[Play]) -> None:
        self.asked: list[Asked] = []
        self._plays = plays
        self._sessions: dict[str, Iterator[tuple[int, Turn]]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        handler = type("Handler", (_Handler,), {"stub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL has to be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def environ(self) -> dict[str, str]:
        """The variables that lead the CLI here, with a key that opens nothing."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": KEY}

    def turn_for(self, session: str, body: dict[str, Any]) -> Turn:
        """The session's next turn; the request is recorded."""
        with self._lock:
            asked = Asked(session, -1, body)
            if session not in self._sessions:
                text = asked.everything()
                fits = (one for one in self._plays if re.search(one.match, text, re.DOTALL))
                self._sessions[session] = next(fits, Play(())).begin(asked)
            number, turn = next(self._sessions[session], (-1, say("(the play is over)")))
            self.asked.append(Asked(session, number, body))
            return turn

    def pause(self, seconds: float) -> None:
        """Let the model think so long, or until the stub is closed."""
        self._closing.wait(seconds)


class _Handler(BaseHTTPRequestHandler):
    stub: MessagesStub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing: what matters is recorded."""

    def do_HEAD(self) -> None:
        self._send(HTTPStatus.OK, {})

    def do_GET(self) -> None:
        self._error(HTTPStatus.NOT_FOUND, "not_found_error", "this is a stub")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.partition("?")[0] != "/v1/messages":
            return self._error(HTTPStatus.NOT_FOUND, "not_found_error", "this is a stub")
        if not body.get("tools") and "title" in text_of(body.get("system", "")):
            return self._answer(body, say("A title"))  # asked beside the session
        turn = self.stub.turn_for(self.headers.get("x-claude-code-session-id", ""), body)
        self.stub.pause(turn.delay)
        if turn.status != HTTPStatus.OK:
            return self._error(turn.status, turn.kind, turn.text, turn.headers)
        return self._answer(body, turn)

    def _answer(self, body: dict[str, Any], turn: Turn) -> None:
        message = _message(body.get("model", "stub"), turn)
        try:
            if body.get("stream"):
                self._stream(message, turn)
            else:
                self._send(HTTPStatus.OK, message, turn.headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the CLI was stopped in the middle

    def _error(
        self, status: int, kind: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        self._send(status, {"type": "error", "error": {"type": kind, "message": message}}, headers)

    def _send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, message: dict[str, Any], turn: Turn) -> None:
        self.send_response(HTTPStatus.OK)
        for name, text in {"content-type": "text/event-stream", **turn.headers}.items():
            self.send_header(name, text)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(_events(message)):
            if number == turn.cut_after:
                self.close_connection = True
                return
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")


def _message(model: str, turn: Turn) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": name, "input": given}
        for name, given in turn.tools
    ]
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": turn.stop_reason or ("tool_use" if turn.tools else "end_turn"),
        "stop_sequence": None,
        "usage": USAGE,
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message as the API streams it: each block opened, filled by one delta, closed."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "tool_use":
            opened = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            opened = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": message["usage"]}
    yield {"type": "message_stop"}
