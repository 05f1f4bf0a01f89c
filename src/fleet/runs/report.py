"""What an agent says of its own run, checked and as it is recorded; who reads it is elsewhere."""

from typing import TYPE_CHECKING

from fleet.errors import Rejected, Usage
from fleet.records import Body
from fleet.text import clean

if TYPE_CHECKING:
    from fleet.identity import Author

MAX_REPORT = 4096  # bytes of UTF-8, for the text and for what comes next, each


def report_body(author: "Author", text: str, after: str, *, idle: bool) -> Body:
    """The record's body; `after` is what the agent means to do next.

    Raises:
        Usage: the author is in no run, or says nothing.
        Rejected: a text is over `MAX_REPORT` bytes.
    """
    if author.run is None:
        what = "a report belongs to a run, and this is none"
        raise Usage(what, "agents report in their runs")
    if not text.strip():
        raise Usage("a report needs a text", "fleet report 'mailed 4 leads, 1 bounced'")
    body: Body = {"op": "report", "run": author.run, "agent": author.name, "idle": idle}
    return body | {"text": _checked(text), "next": _checked(after)}


def _checked(text: str) -> str:
    text = clean(text)
    size = len(text.encode())
    if size > MAX_REPORT:
        raise Rejected(
            f"this report has {size} bytes", f"at most {MAX_REPORT} are kept: shorten it"
        )
    return text
