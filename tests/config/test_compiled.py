"""The compiled config is as good as the files: never stale, never lost, and light to load."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleet.config import build as slow_path
from fleet.config import fingerprint, load, open_config
from fleet.errors import BadHome
from fleet.stores.ram import RamCache

HEAVY = ("pydantic", "pydantic_core", "ruamel", "jsonschema", "fastjsonschema", "difflib")
HEAVY += ("cronsim", "zoneinfo", "hashlib", "datetime", "click", "fleet.config.build")

OPEN = """
import sys
from pathlib import Path
from fleet.config import open_config

class FolderCache:
    def load(self, name):
        path = Path(sys.argv[2], name)
        return path.read_bytes() if path.exists() else None

    def save(self, name, data):
        Path(sys.argv[2], name).write_bytes(data)

config = open_config(Path(sys.argv[1]), FolderCache(), tolerant=True)
print(len(config.agents), bool(config.warning))
print(*(name for name in sys.argv[3:] if name in sys.modules))
"""


def opened_elsewhere(home: Path, cache: Path) -> list[str]:
    """How another process sees the home: agents and warning, then the heavy modules it loaded."""
    cache.mkdir(exist_ok=True)
    argv = [sys.executable, "-c", OPEN, str(home), str(cache), *HEAVY]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def never_rebuilt(monkeypatch) -> Callable[[], None]:
    """From the call on, reading the operator's files fails the test."""

    def arm() -> None:
        def refuse(root: Path) -> None:
            pytest.fail(f"{root} was read again")

        monkeypatch.setattr(slow_path, "build", refuse)

    return arm


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A folder that every user of this machine may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder / "home"
    shutil.rmtree(folder)


def test_an_unchanged_home_is_loaded_without_its_files(home, never_rebuilt) -> None:
    """The second opening gives an equal config from the cache alone."""
    cache = RamCache()
    first = load(home, cache)

    never_rebuilt()

    assert open_config(home, cache, tolerant=False) == first
    assert open_config(home, cache, tolerant=True) == first


def test_loading_is_light(home, tmp_path) -> None:
    """With a compiled config no heavy library is imported; without one they are."""
    cold = opened_elsewhere(home, tmp_path / "cache")
    warm = opened_elsewhere(home, tmp_path / "cache")

    assert (cold[0], warm[0]) == ("3 False", "3 False")
    assert {"pydantic", "ruamel", "fleet.config.build"} <= set(cold[1].split())
    assert warm[1] == ""


def test_a_broken_home_is_as_light(home, write, tmp_path) -> None:
    """While the files are broken, each command does not pay for finding that out again."""
    opened_elsewhere(home, tmp_path / "cache")
    write("agents/outreach.yaml", "schedule: */5\n")

    assert "pydantic" in opened_elsewhere(home, tmp_path / "cache")[1]
    assert opened_elsewhere(home, tmp_path / "cache") == ["3 True", ""]


EDITS = {
    "an agent is edited": lambda home: edit(home / "agents/outreach.yaml", "first", "final"),
    "fleet.yaml is edited": lambda home: edit(home / "fleet.yaml", "test", "best"),
    "a channel is edited": lambda home: edit(home / "channels/strategy.yaml", "Prior", "Minor"),
    "an agent is added": lambda home: copy(home, "agents/competitor-watch.yaml", "agents/new.yaml"),
    "a channel is added": lambda home: copy(home, "channels/strategy.yaml", "channels/new.yaml"),
    "a type is added": lambda home: copy(home, "schemas/task-created.json", "schemas/new.json"),
    "a template is added": lambda home: copy(home, "prompts/base.md.j2", "prompts/new.md.j2"),
    "an agent is removed": lambda home: (home / "agents/competitor-watch.yaml").unlink(),
    "an agent is renamed": lambda home: (home / "agents/competitor-watch.yaml").rename(
        home / "agents/watcher.yaml"
    ),
    "a type is removed": lambda home: (home / "schemas/task-created.json").unlink(),
    "a file is replaced, size and mtime kept": lambda home: replace_keeping_times(
        home / "agents/outreach.yaml"
    ),
}


def edit(path: Path, old: str, new: str) -> None:
    """Replace a word in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def copy(home: Path, source: str, target: str) -> None:
    """Write one file of the home once more."""
    shutil.copyfile(home / source, home / target)


def replace_keeping_times(path: Path) -> None:
    """What `cp -p` and some sync tools do."""
    before = path.stat()
    edit(path, "first", "final")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", EDITS)
@pytest.mark.parametrize("old", [True, False], ids=["old", "young"])
def test_every_change_is_seen(home, change, old, monkeypatch) -> None:
    """Whatever changes, the next opening is what the files say now, as if there were no cache."""
    cache = RamCache()
    if old:
        monkeypatch.setattr(fingerprint, "YOUNG", -1 << 62)
    before = load(home, cache)

    EDITS[change](home)

    assert load(home, cache) == load(home, RamCache())
    assert load(home, cache).version != before.version


@pytest.mark.parametrize("change", EDITS)
def test_a_change_within_one_tick_is_seen(home, change, monkeypatch) -> None:
    """Where the file system's clock stands still between two writes, the bytes decide."""
    exact = fingerprint.facts

    def coarse(path: str) -> fingerprint.Facts | None:
        seen = exact(path)
        return seen and (seen[0], tick, tick, 1)

    tick = time.time_ns()
    monkeypatch.setattr(fingerprint, "facts", coarse)
    cache = RamCache()
    before = load(home, cache)

    EDITS[change](home)

    assert load(home, cache).version != before.version


def test_young_files_are_read_only_until_they_are_old(home, monkeypatch) -> None:
    """Two seconds after an edit a look at the times is enough again."""
    cache = RamCache()
    first = load(home, cache)
    later = time.time_ns() + 10 * fingerprint.YOUNG
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert load(home, cache) == first

    def refuse(path: str) -> None:
        pytest.fail(f"{path} was read")

    monkeypatch.setattr(fingerprint, "_checksum", refuse)

    assert load(home, cache) == first


def test_a_moved_home_is_compiled_anew(home, tmp_path) -> None:
    """A copied cache does not carry the paths of another home along."""
    cache = RamCache()
    load(home, cache)
    moved = tmp_path / "elsewhere"
    home.rename(moved)

    config = load(moved, cache)

    assert config.root == moved
    assert config.agents["outreach"].cwd == moved / "work/outreach"


@pytest.mark.parametrize("damage", [b"", b"\0" * 100, None])
def test_a_useless_cache_costs_only_time(home, damage) -> None:
    """An empty, foreign or missing cache gives the same config."""
    cache = RamCache()
    config = load(home, cache)
    for name in ("config", "config-broken"):
        if damage is not None:
            cache.save(name, damage)

    assert load(home, cache if damage is not None else RamCache()) == config


# A home that breaks while agents run -------------------------------------------------------------

BREAKS = {
    "empty": lambda path: path.write_text(""),
    "half": lambda path: path.write_text(path.read_text()[:-9] + "[half"),
    "deleted": lambda path: path.unlink(),
    "a typing mistake": lambda path: path.write_text(path.read_text() + "shedule: x\n"),
    "a symlink": lambda path: (path.unlink(), path.symlink_to("/etc/passwd")),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "not UTF-8": lambda path: path.write_bytes(b"\xff\xfe"),
}


@pytest.mark.parametrize("kind", BREAKS)
@pytest.mark.parametrize(
    "file", ["fleet.yaml", "agents/outreach.yaml", "agents/competitor-watch.yaml"]
)
def test_a_broken_edit_keeps_the_last_good_config(home, file, kind) -> None:
    """Whatever happens to a file, no agent is dropped, the warning names it, a fix is picked up."""
    cache = RamCache()
    good = load(home, cache)
    text = (home / file).read_text()

    BREAKS[kind](home / file)

    for _ in range(2):
        config = open_config(home, cache, tolerant=True)
        assert config.agents == good.agents
        assert file in config.warning
        assert "\n" not in config.warning
    if kind == "a folder":
        (home / file).rmdir()
    (home / file).unlink(missing_ok=True)
    (home / file).write_text(text)
    edit(home / "fleet.yaml", "test", "best")
    fixed = open_config(home, cache, tolerant=True)
    assert (fixed.name, fixed.warning) == ("best", "")


def test_a_strict_opening_refuses_with_every_finding(home, write) -> None:
    """Who wants to know gets all faults, and the exit code of a bad home."""
    cache = RamCache()
    load(home, cache)
    write("agents/outreach.yaml", "shedule: x\nfoo: y\n")

    with pytest.raises(BadHome, match=r"agents/outreach\.yaml") as refused:
        load(home, cache)

    assert len(refused.value.findings) == 4
    assert refused.value.exit_code == 7
    assert "\n" not in str(refused.value)


def test_without_a_last_good_config_there_is_none(home, write) -> None:
    """A home that was never good is refused even to the tolerant."""
    write("agents/outreach.yaml", "")

    with pytest.raises(BadHome, match="the file is empty"):
        open_config(home, RamCache(), tolerant=True)


def test_an_unreadable_file_keeps_the_last_good_config(open_home) -> None:
    """A file that loses its permissions is broken, not absent."""
    from conftest import HOME

    for name, text in HOME.items():
        (open_home / name).parent.mkdir(parents=True, exist_ok=True)
        (open_home / name).write_text(text)
    cache = RamCache()
    load(open_home, cache)
    (open_home / "agents/outreach.yaml").chmod(0)

    uid = os.geteuid()
    if uid == 0:
        os.seteuid(65534)  # permission bits mean nothing to root
    try:
        config = open_config(open_home, cache, tolerant=True)
    finally:
        os.seteuid(uid)

    assert len(config.agents) == 3
    assert "agents/outreach.yaml: the file cannot be read: Permission denied" in config.warning


@pytest.mark.parametrize(
    "file",
    ["agents/competitor-watch.yaml", "schemas/task-created.json", "channels/outreach-review.yaml"],
)
def test_what_was_taken_away_on_purpose_is_confirmed(home, file) -> None:
    """A vanished file leaves the last good config in force until somebody looks at it strictly."""
    for agent in ("outreach", "reply-handler"):
        edit(home / f"agents/{agent}.yaml", "[strategy, outreach-review]", "[strategy]")
    cache = RamCache()
    load(home, cache)
    (home / file).unlink()

    assert f"{file}: the file is gone" in open_config(home, cache, tolerant=True).warning

    accepted = load(home, cache)
    assert open_config(home, cache, tolerant=True) == accepted
    assert accepted.warning == ""
    stems = {*accepted.agents, *accepted.channels, *accepted.types}
    assert Path(file).stem not in stems
