"""The boxes of the documents that fleet unites."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def test_every_box_names_a_test_that_is_there() -> None:
    """Each box is ticked and names at least one test, and every test that is named exists."""
    text = (ROOT / "docs/seeds.md").read_text()
    boxes = re.split(r"^- ", text.partition("\n## ")[2], flags=re.MULTILINE)[1:]

    assert len(boxes) >= 18
    for box in boxes:
        assert box.startswith("[x] "), box
        assert NAMED.search(box), box
    for file, function in NAMED.findall(text):
        assert f"def {function or 'test_'}" in (ROOT / file).read_text(), (file, function)
