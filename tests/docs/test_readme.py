import os
import re
import subprocess
import sys
from pathlib import Path

from reference import leaves

ROOT = Path(__file__).parents[2]


def blocks(page: str) -> list[str]:
    """The shell blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_a_newcomer_can_copy_every_block_of_the_readme(tmp_path: Path) -> None:
    """The blocks run one after another in one shell, as they stand, in an empty folder.

    `make demo` and `make test` are run by the last gate itself, so they are left out here.
    """
    first, *rest = blocks("README.md")
    assert first == "make demo\nmake test\n"
    script = "set -e\n" + "".join(rest)

    done = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=tmp_path,
        env={
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": os.environ["HOME"],
            "PYTHONWARNINGS": "error",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "lead:sarah@acme.com" in done.stdout
    assert "Cursor cut Pro to $20" in done.stdout


def test_every_json_shape_is_documented() -> None:
    """Each command with `--json` stands on the page of shapes, and each shape in its table."""
    page = (ROOT / "docs" / "json-output.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| [")]
    printed = {words for row in rows for words in re.findall("`([a-z ]+)", row[1] + row[2])}
    own = {
        words
        for words, command in leaves().items()
        if any("--json" in param.opts for param in command.params)
    }

    assert {words for words in own if not {words, words.rpartition(" ")[0]} & printed} <= {
        "schema show"
    }
    files = {path.stem for path in (ROOT / "docs" / "json").glob("*.json")}
    assert {re.findall(r"\[(.+?)\]", row[0])[0] for row in rows} == files


def test_what_the_readme_links_to_is_there() -> None:
    """No link of the README leads nowhere."""
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
