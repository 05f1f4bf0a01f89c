"""What agents write arrives byte for byte, whatever a shell would make of it."""

import json
import re
from pathlib import Path

from calls import Actor, call, many
from conftest import Fleet
from fleets import Scripted

TEXTS = {
    "backticks": "look: `touch pwned` and `id`",
    "dollars": "$(touch pwned) $HOME ${PATH} $'x' \\$5",
    "quotes": 'it\'s "so" \'\' "" \u2018\u2019',
    "newlines": "\none\n\n  two\r\nthree\ttab\n\n",
    "dash": "-rf --json\n--help",
    "history": "!! !1 {a,b} ~ * ? [x] ; | & > < # \\",
    "heredoc": "EOT\nEOF\n<<EOT\n$(touch pwned)\n",
    "unicode": "Zürich 日本 \U0001f600 e\u0301 \u2028 \u200f \ufeff",
    "format": "%s %n {0} {x} \\n \\x41 \\",
}
TEACHING = "{% block context %}{{ how_to }}{% endblock %}{% block task %}Work.{% endblock %}"
LONG_POST = "`$(x)`\n" * (15 * 1024 // 7)
LONG_PAYLOAD = '"\\$`\n' * (60 * 1024 // 8)  # 60 KiB once JSON has escaped it


def test_a_post_is_the_same_bytes(home: Path, tmp_path: Path) -> None:
    """F1: by argument, standard input and file, any text of up to 15 KiB is what `read` shows."""
    texts = [*TEXTS.values(), LONG_POST]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.md").write_bytes(text.encode())

    done = many(
        home,
        [
            one
            for number, text in enumerate(texts)
            for one in (
                call("post", "strategy", text),
                call("post", "strategy", "-", stdin=text),
                call("post", "strategy", "--file", str(tmp_path / f"{number}.md")),
                call("reply", "strategy#1", "-", stdin=text),
            )
        ],
    )
    (shown,) = many(home, [call("read", "strategy", "--json", "--limit", "999")])

    assert [one.code for one in done] == [0] * len(done), [one for one in done if one.code]
    found = [json.loads(line)["text"] for line in shown.out.splitlines()]
    assert found == [text for text in texts for _ in range(4)]


def test_an_event_is_the_same_bytes(home: Path, tmp_path: Path) -> None:
    """F1: a payload of up to 60 KB comes back equal, by `--data -`, `@file` and as a field."""
    texts = [*TEXTS.values(), LONG_PAYLOAD]
    calls = []
    for number, text in enumerate(texts):
        data = json.dumps({"competitor": "x", "newPrice": text})
        (tmp_path / f"{number}.json").write_text(data)
        calls += [
            call("emit", "pricing-change", "--data", "-", stdin=data),
            call("emit", "pricing-change", "--data", f"@{tmp_path / f'{number}.json'}"),
            call("emit", "pricing-change", "competitor=x", f"newPrice={text}"),
        ]

    done = many(home, calls)
    (shown,) = many(home, [call("events", "--json", "--limit", "999")])

    assert [one.code for one in done] == [0] * len(done), [one for one in done if one.code]
    found = [json.loads(line)["payload"]["newPrice"] for line in shown.out.splitlines()]
    assert found == [text for text in texts for _ in range(3)]


def test_real_arguments_are_not_expanded_again(home: Path, fleet: Fleet, tmp_path: Path) -> None:
    """F1: the program starts no shell on the way: what argv holds is stored, nothing is run."""
    text = "".join(TEXTS.values())
    assert fleet("post", "strategy", text, cwd=tmp_path).returncode == 0

    assert json.loads(fleet("read", "strategy", "--json").stdout)["text"] == text
    assert not list(tmp_path.rglob("pwned"))


def test_the_way_a_prompt_teaches_is_safe(tmp_path: Path) -> None:
    """F1: a shell that runs a prompt's multi-line example with any text posts exactly that text."""
    home = Scripted(tmp_path / "home")
    home.put("channels/competitive-intel.yaml", "name: CI\npurpose: x\nmembers: all\n")
    Actor(home, "worker")
    home.put("prompts/base.md.j2", TEACHING)
    prompt = home.call("context", "worker").stdout

    lines = re.search(r"(?ms)^(fleet post competitive-intel - <<'EOT'\n)(.*?)^EOT$", prompt)
    assert lines, prompt
    text = "".join(one for name, one in TEXTS.items() if name != "heredoc")
    home.put("work/worker/as-taught.sh", f"{lines[1]}{text}\nEOT\necho done\n")
    home.agent("worker", "exec sh as-taught.sh")

    assert home.call("run", "worker").returncode == 0
    shown = json.loads(home.call("read", "competitive-intel", "--json").stdout)
    assert shown["text"] == text + "\n"
    assert not list(home.root.rglob("pwned"))


def test_no_prompt_teaches_an_unquoted_heredoc(tmp_path: Path, fleet: Fleet) -> None:
    """F1: no prompt of the shipped fleet has a here-document or an example that a shell expands."""
    fleet("init", str(tmp_path / "growth"))
    agents = sorted(path.stem for path in (tmp_path / "growth" / "agents").glob("*.yaml"))

    prompts = many(tmp_path / "growth", [call("context", name, FLEET_HOME=None) for name in agents])

    assert len(agents) == 15
    for shown in prompts:
        assert shown.code == 0, shown.err
        assert "<<'EOT'" in shown.out
        for line in re.findall(r"(?m)^fleet .*$|: (fleet .*)$", shown.out):
            assert "`" not in line
            assert "$(" not in line
        assert not re.search(r"<<-?\s*(?!['\"])\w", shown.out)
