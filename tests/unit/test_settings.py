"""Folders and numbers from the environment and from settings.toml."""

from pathlib import Path

import pytest

from asr_core.errors import SettingsError
from asr_core.settings import Settings


def test_roots_are_separated_like_a_path(tmp_path: Path) -> None:
    environ = {"ASR_HOME": str(tmp_path), "ASR_BATCH_ROOTS": f"{tmp_path}/一:{tmp_path}/b c::"}
    assert Settings.from_env(environ).batch_roots == (tmp_path / "一", tmp_path / "b c")


@pytest.mark.parametrize("value", ["", ":"])
def test_no_folder_is_no_roots(tmp_path: Path, value: str) -> None:
    environ = {"ASR_HOME": str(tmp_path), "ASR_BATCH_ROOTS": value}
    assert Settings.from_env(environ).batch_roots is None


def test_roots_may_be_a_list_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(f'batch_roots = ["{tmp_path}/a", "~/b"]')
    settings = Settings.from_env({"ASR_HOME": str(tmp_path)})
    assert settings.batch_roots == (tmp_path / "a", Path("~/b").expanduser())


@pytest.mark.parametrize("value", ["0", "-1", "soon"])
def test_the_pause_between_looks_is_a_number(tmp_path: Path, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_env({"ASR_HOME": str(tmp_path), "ASR_WATCH_S": value})
    assert refused.value.details["name"] == "ASR_WATCH_S"


@pytest.mark.parametrize("value", ["auto", "none", "0", "0-23,48", "3,1"])
def test_cores_are_a_word_or_a_list(tmp_path: Path, value: str) -> None:
    environ = {"ASR_HOME": str(tmp_path), "ASR_CPU_AFFINITY": value}
    assert Settings.from_env(environ).cpu_affinity == value


@pytest.mark.parametrize("value", ["all", "3-1", "1,", "0;1", "0-", "12345", " 1"])
def test_what_names_no_cores_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_env({"ASR_HOME": str(tmp_path), "ASR_CPU_AFFINITY": value})
    assert refused.value.details["name"] == "ASR_CPU_AFFINITY"


@pytest.mark.parametrize("name", ["ASR_HOME", "ASR_MODEL_DIR", "ASR_BATCH_ROOTS"])
def test_the_home_of_nobody_is_refused(tmp_path: Path, name: str) -> None:
    environ = {"ASR_HOME": str(tmp_path), name: "~no-such-user/x"}
    with pytest.raises(SettingsError) as refused:
        Settings.from_env(environ)
    assert refused.value.details["name"] == name
    assert refused.value.details["value"] == "~no-such-user/x"
