"""Keys in prompts, run logs and events; files that others can read."""

import json
import stat
import sys

import pytest

from calls import call, many, tree
from fleets import BASE, Scripted

KEYS = {
    "anthropic-key": "sk-ant-api03-abcDEF1234567890",
    "github-token": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "aws-key": "AKIAIOSFODNN7EXAMPLE",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "private-key": "-----BEGIN {0}-----\nTUlJRXZRSUJBREFOQmdrcQ==\n-----END {0}-----".format(
        "PRIVATE KEY"
    ),
}
NESTED = {
    "n": "1",
    "config": {"API_KEY": "plainwords-one", "maxTokens": 4096, "apiKey": "plainwords-two"},
    "list": [{"dbPassword": "plainwords-three"}, {"token_count": 12}],
    "sha": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
}
SECRETS = (*KEYS.values(), "TUlJRXZRSUJBREFOQmdrcQ", "plainwords", "hunter2")
SCRIPT = f"""
import json, subprocess, sys
keys, nested = {KEYS!r}, {NESTED!r}
open("got", "w").write(sys.stdin.read())
keys["private-key"] = keys["private-key"].replace("\\\\n", "\\n")
print(json.dumps(nested | keys))
for key in keys.values():
    print("on stdout:", key)
    print("on stderr:", key, file=sys.stderr)
print("password=hunter2 maxTokens=4096", flush=True)
fleet = lambda *words, data="": subprocess.run(["fleet", *words], input=data, text=True, check=True)
fleet("post", "strategy", "-", data="keys: " + " ".join(keys.values()))
fleet("emit", "note", "--data", "-", data=json.dumps(nested | {{"n": keys["jwt"]}}))
fleet("report", "used " + keys["aws-key"], "--next", "rotate " + keys["github-token"])
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """A home in which an agent printed, posted, emitted and reported keys; its prompt has one."""
    home = Scripted(tmp_path_factory.mktemp("keys") / "home")
    home.put("prompts/keyed.md.j2", BASE.replace("Work.", f"Use {KEYS['anthropic-key']}."))
    command = json.dumps([sys.executable, str(home.put("says.py", SCRIPT))])
    home.agent("worker", "", "prompt: keyed.md.j2", f"command: {command}")
    home.agent("reader", "cat > got; echo done")
    for agent in ("worker", "reader"):
        done = home.call("run", agent)
        assert done.returncode == 0, done.stdout + done.stderr
    return home


def test_what_a_child_prints_and_sends_is_kept_masked(ran: Scripted) -> None:
    """F23: keys that a run prints, posts, emits and reports are masks in every file and digest.

    Fields tell by their names, nested, in upper case and camelCase; look-alikes are untouched.
    """
    (run,) = ran.runs("worker")
    folder = ran.root / "state" / "run" / run.id
    first, *rest = (folder / "stdout.jsonl").read_text().splitlines()
    kept = json.loads(first)
    (event,) = ran.fleet.store.read("events", 0, 9).records
    asked, told = ((ran.root / "work" / name / "got").read_text() for name in ("worker", "reader"))

    assert {name: kept[name] for name in KEYS} == {name: f"[masked:{name}]" for name in KEYS}
    assert kept["config"]["API_KEY"] == kept["config"]["apiKey"] == "[masked:api-key]"
    assert kept["list"] == [{"dbPassword": "[masked:password]"}, {"token_count": 12}]
    assert (kept["config"]["maxTokens"], kept["sha"]) == (4096, NESTED["sha"])
    said = [f"on stdout: [masked:{name}]" for name in KEYS]
    assert rest[: len(KEYS) + 1] == [*said, "password=[masked:password] maxTokens=4096"]
    payload = event.body["payload"]
    assert payload == {name: kept[name] for name in NESTED} | {"n": "[masked:jwt]"}
    assert all(f"[masked:{name}]" in told for name in KEYS)
    assert "Use [masked:anthropic-key]." in asked
    assert [name for name, data in tree(ran.root / "state").items() if _holds(data)] == []


def _holds(data: bytes) -> bool:
    return any(secret.encode() in data for secret in SECRETS)


def test_only_the_owner_may_look_in(ran: Scripted) -> None:
    """F23: everything that fleet made is 0600 or 0700, the agents' working folders too."""
    for path in [ran.root / "state", *(ran.root / "state").rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    for name in ("work", "work/worker"):
        assert stat.S_IMODE((ran.root / name).stat().st_mode) == 0o700, name


def test_a_name_that_holds_a_key_is_refused_in_one_line(scripted: Scripted) -> None:
    """F23: claim keys and ids are not masked but refused, with exit 3 and without the key."""
    scripted.agent("worker", "true")
    key = KEYS["github-token"]

    done = many(
        scripted.root,
        [
            call("claim", f"login:{key}"),
            call("post", "strategy", "x", "--id", key),
            call("emit", "note", "n=1", "--id", "password=hunter2"),
            call("claim", "token:rotation-of-monday"),
        ],
        {"FLEET_HOME": str(scripted.root)},
    )

    assert [one.code for one in done] == [3, 3, 3, 0]
    assert all("holds a secret" in one.err and len(one.err.splitlines()) == 1 for one in done[:3])
    assert not any(key in one.err or "hunter2" in one.err for one in done)
    assert [name for name, data in tree(scripted.root / "state").items() if _holds(data)] == []
