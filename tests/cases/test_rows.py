"""Each reported case that this version promises to handle has a test that names it."""

import ast
import re
from pathlib import Path

PROMISED = {
    "A": (1, 2, 4, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18),
    "B": (1, 2, 4, 5, 6, 7, 8, 9, 10),
    "E": (1, 2, 4, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16),
    "F": (1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 27, 28),
    "G": (1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 15),
    "H": (1, 2, 4, 5, 6, 9, 10),
}
ROWS = re.compile(r"([A-Z]\d+(?:[,/ ] ?[A-Z]\d+)*): ")


def test_no_promised_case_is_without_a_test() -> None:
    """The rows that tests' docstrings begin with are those that are promised, all of them."""
    promised = {f"{area}{number}" for area, numbers in PROMISED.items() for number in numbers}
    named = {row for path in Path(__file__).parent.glob("test_*.py") for row in _rows(path)}

    assert sorted(promised - named) == []
    assert sorted(named - promised) == []


def _rows(path: Path) -> set[str]:
    """The rows that the tests in a file name."""
    functions = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
    ]
    said = [ast.get_docstring(one) or "" for one in functions if one.name.startswith("test_")]
    return {row for text in said if (m := ROWS.match(text)) for row in re.findall(r"\w+", m[1])}
