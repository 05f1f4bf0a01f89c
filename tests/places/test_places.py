"""A home is found where it is, and no name leads out of its folder."""

from pathlib import Path

import pytest

from fleet.errors import BadHome, Rejected
from fleet.places import Places, find_home, safe_name

BAD_NAMES = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc",
    "a\0",
    "a.",
    "a ",
    " a",
    "A",
    "Ä",
    "-a",
    "_a",
    "a\n",
    "x" * 65,
    "x" * 300,
]


def test_the_flag_wins_over_the_environment_and_that_over_the_folder(tmp_path) -> None:
    """--home, else FLEET_HOME, else the nearest parent with a fleet.yaml."""
    for name in ("flag", "env", "near", "near/inner"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fleet.yaml").touch()
    deep = tmp_path / "near" / "inner" / "a" / "b"
    deep.mkdir(parents=True)
    env = {"FLEET_HOME": str(tmp_path / "env")}

    assert find_home(str(tmp_path / "flag"), env, deep) == tmp_path / "flag"
    assert find_home(None, env, deep) == tmp_path / "env"
    assert find_home(None, {"FLEET_HOME": ""}, deep) == tmp_path / "near" / "inner"
    assert find_home("../../..", {}, deep) == tmp_path / "near"


def test_no_home_is_one_line_and_creates_nothing(tmp_path) -> None:
    """Without a fleet.yaml the answer says what to do, and the folder stays empty."""
    for flag, env in ((None, {}), (str(tmp_path), {}), (None, {"FLEET_HOME": str(tmp_path)})):
        with pytest.raises(BadHome, match=r"fleet\.yaml") as refused:
            find_home(flag, env, tmp_path)
        assert refused.value.exit_code == 7
        assert "\n" not in str(refused.value)
        assert "fleet init" in str(refused.value)

    assert list(tmp_path.iterdir()) == []


def test_a_named_home_survives_the_loss_of_its_file(tmp_path) -> None:
    """A run goes on finding its home while fleet.yaml is being replaced."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "FORMAT").write_text("fleet-state 1\n")

    assert find_home(None, {"FLEET_HOME": str(tmp_path)}, Path("/")) == tmp_path


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_bad_name_is_no_path(name, tmp_path) -> None:
    """No path is made from a name that could lead elsewhere."""
    places = Places(tmp_path)

    assert not safe_name(name)
    for make in (places.run_folder, places.claude_folder, places.work):
        with pytest.raises(Rejected):
            make(name)


@pytest.mark.parametrize("name", ["a", "outreach", "win-back", "0", "a_b", "x" * 64])
def test_a_good_name_stays_in_its_folder(name, tmp_path) -> None:
    """An id gives exactly one folder below the home."""
    assert safe_name(name)
    assert Places(tmp_path).run_folder(name).parent == tmp_path / "state" / "run"
    assert Places(tmp_path).work(name).parent == tmp_path / "work"
