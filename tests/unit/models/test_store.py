"""Users get verified model files from packages or their own folder, or are told what to do."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from asr_core.errors import (
    ModelError,
    ModelFileMissingError,
    ModelIntegrityError,
    UnknownModelError,
)
from asr_core.models import inspection
from asr_core.models.catalog import WHISPER_BASE
from asr_core.models.inspection import ModelState
from asr_core.models.store import ModelStore
from tests.unit.models.conftest import (
    CATALOGUE,
    NEW_WEIGHTS,
    TINY,
    TOKENS,
    WEIGHTS,
    write_packages,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    return tmp_path / "home" / "models"


@pytest.fixture
def store(models_dir: Path) -> ModelStore:
    return ModelStore(models_dir, catalogue=CATALOGUE)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that the store hashes, in order."""
    names: list[str] = []
    real = inspection.sha256_of

    def record(path: Path) -> str:
        names.append(path.name)
        return real(path)

    monkeypatch.setattr(inspection, "sha256_of", record)
    return names


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_packages_are_joined_into_the_models_folder(
    store: ModelStore, models_dir: Path, old_packages: Path
) -> None:
    assert store.state("tiny") is ModelState.MISSING
    folder = store.ensure("tiny")
    assert folder == models_dir / "tiny" == store.folder("tiny")
    assert visible(folder) == ["model.bin", "tokenizer.json"]
    assert (folder / "model.bin").read_bytes() == WEIGHTS
    assert (folder / "tokenizer.json").read_bytes() == TOKENS
    assert store.state("tiny") is store.verify("tiny") is ModelState.INSTALLED


def test_the_second_pair_of_packages_is_as_good(store: ModelStore, new_packages: Path) -> None:
    assert (store.ensure("tiny") / "model.bin").read_bytes() == NEW_WEIGHTS
    assert store.verify("tiny") is ModelState.INSTALLED


def test_the_first_pair_is_preferred(
    store: ModelStore, old_packages: Path, new_packages: Path
) -> None:
    assert (store.ensure("tiny") / "model.bin").read_bytes() == WEIGHTS


def test_a_damaged_first_pair_falls_back_to_the_second(
    store: ModelStore, packages: Path, new_packages: Path
) -> None:
    write_packages(packages, TINY.layouts[0], WEIGHTS[:10], WEIGHTS[10:-1] + b"!", TOKENS)
    assert (store.ensure("tiny") / "model.bin").read_bytes() == NEW_WEIGHTS


def test_damaged_packages_are_refused_and_leave_nothing(
    store: ModelStore, models_dir: Path, packages: Path
) -> None:
    write_packages(packages, TINY.layouts[0], WEIGHTS[:10], WEIGHTS[11:], TOKENS)
    with pytest.raises(ModelIntegrityError) as caught:
        store.ensure("tiny")
    part = packages / "tinglu_old_tiny_part1" / "data" / "model.bin.part1"
    assert caught.value.details == {"name": "tiny", "path": str(part)}
    assert sorted(path.name for path in models_dir.iterdir()) == [".lock"]


def test_half_a_pair_counts_as_missing(store: ModelStore, old_packages: Path) -> None:
    shutil.rmtree(old_packages / "tinglu_old_tiny_part2")
    with pytest.raises(ModelFileMissingError):
        store.ensure("tiny")


def test_a_package_without_its_data_is_named(store: ModelStore, old_packages: Path) -> None:
    part = old_packages / "tinglu_old_tiny_part2" / "data" / "model.bin.part2"
    part.unlink()
    with pytest.raises(ModelIntegrityError) as caught:
        store.ensure("tiny")
    assert caught.value.details["path"] == str(part)


def test_nothing_anywhere_names_the_file_and_every_remedy(
    store: ModelStore, models_dir: Path
) -> None:
    with pytest.raises(ModelFileMissingError) as caught:
        store.ensure("tiny")
    assert caught.value.details == {"name": "tiny", "path": str(models_dir / "tiny" / "model.bin")}
    for remedy in ("run.sh models install tiny", "requirements-embedded.txt", "ASR_MODEL_DIR"):
        assert remedy in caught.value.message


@pytest.mark.parametrize("method", ["ensure", "install", "state", "verify", "folder"])
def test_an_unknown_model_is_refused(store: ModelStore, method: str) -> None:
    with pytest.raises(UnknownModelError):
        getattr(store, method)("nameless")


def test_a_later_start_hashes_nothing(
    models_dir: Path, old_packages: Path, hashed: list[str]
) -> None:
    ModelStore(models_dir, catalogue=CATALOGUE).ensure("tiny")
    hashed.clear()
    again = ModelStore(models_dir, catalogue=CATALOGUE)
    assert again.ensure("tiny") == models_dir / "tiny"
    assert again.state("tiny") is ModelState.INSTALLED
    assert hashed == []


def test_verify_always_hashes_everything(
    store: ModelStore, old_packages: Path, hashed: list[str]
) -> None:
    store.ensure("tiny")
    hashed.clear()
    store.verify("tiny")
    assert hashed == ["model.bin", "tokenizer.json"]


def test_a_touched_file_is_hashed_once_more(
    store: ModelStore, old_packages: Path, hashed: list[str]
) -> None:
    weights = store.ensure("tiny") / "model.bin"
    os.utime(weights, ns=(0, 1))
    hashed.clear()
    assert store.state("tiny") is ModelState.INSTALLED
    assert store.state("tiny") is ModelState.INSTALLED
    assert hashed == ["model.bin"]


def damage(path: Path) -> None:
    """Change one byte; length stays, modification time moves."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(0, 1))


def test_one_wrong_byte_is_found_and_mended_from_the_packages(
    store: ModelStore, models_dir: Path, old_packages: Path
) -> None:
    weights = store.ensure("tiny") / "model.bin"
    damage(weights)
    assert store.state("tiny") is ModelState.DAMAGED
    assert store.verify("tiny") is ModelState.DAMAGED
    assert store.ensure("tiny") == models_dir / "tiny"
    assert weights.read_bytes() == WEIGHTS
    assert visible(models_dir) == ["tiny"]
    assert not (models_dir / ".tiny.retired").exists()


def test_one_wrong_byte_without_packages_is_an_error_with_the_path(
    store: ModelStore, old_packages: Path
) -> None:
    weights = store.ensure("tiny") / "model.bin"
    damage(weights)
    shutil.rmtree(old_packages)
    with pytest.raises(ModelIntegrityError) as caught:
        store.ensure("tiny")
    assert caught.value.details == {"name": "tiny", "path": str(weights)}


def test_a_lost_small_file_is_damage_and_named(store: ModelStore, old_packages: Path) -> None:
    tokenizer = store.ensure("tiny") / "tokenizer.json"
    tokenizer.unlink()
    shutil.rmtree(old_packages)
    assert store.state("tiny") is ModelState.DAMAGED
    with pytest.raises(ModelFileMissingError) as caught:
        store.ensure("tiny")
    assert caught.value.details["path"] == str(tokenizer)


def test_what_an_interrupted_join_left_is_removed(
    store: ModelStore, models_dir: Path, old_packages: Path
) -> None:
    left = models_dir / ".tiny.joining"
    left.mkdir(parents=True)
    (left / "model.bin").write_bytes(WEIGHTS[:100])
    (left / "stray").write_bytes(b"x")
    assert visible(store.ensure("tiny")) == ["model.bin", "tokenizer.json"]
    assert not left.exists()


def test_unreadable_stamps_cost_a_hashing_only(
    store: ModelStore, models_dir: Path, old_packages: Path, hashed: list[str]
) -> None:
    store.ensure("tiny")
    for stamp in (models_dir / ".verified").iterdir():
        stamp.write_bytes(b"\xff not json")
    hashed.clear()
    assert store.state("tiny") is ModelState.INSTALLED
    assert hashed == ["model.bin", "tokenizer.json"]


def user_folder(tmp_path: Path, weights: bytes) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.bin").write_bytes(weights)
    (folder / "tokenizer.json").write_bytes(TOKENS)
    return folder


@pytest.mark.parametrize("weights", [WEIGHTS, NEW_WEIGHTS], ids=["old", "new"])
def test_a_folder_of_the_user_is_used_in_place(
    tmp_path: Path, models_dir: Path, weights: bytes, hashed: list[str]
) -> None:
    folder = user_folder(tmp_path, weights)
    store = ModelStore(models_dir, folders={"tiny": folder}, catalogue=CATALOGUE)
    assert store.ensure("tiny") == folder == store.folder("tiny")
    assert hashed == ["model.bin", "tokenizer.json"]
    assert store.ensure("tiny") == folder
    assert hashed == ["model.bin", "tokenizer.json"]
    assert sorted(path.name for path in folder.iterdir()) == ["model.bin", "tokenizer.json"]
    assert not (models_dir / "tiny").exists()


@pytest.mark.parametrize("method", ["ensure", "install"])
def test_a_damaged_folder_of_the_user_is_refused_and_left_alone(
    tmp_path: Path, models_dir: Path, old_packages: Path, method: str
) -> None:
    folder = user_folder(tmp_path, WEIGHTS[:-1] + b"!")
    store = ModelStore(models_dir, folders={"tiny": folder}, catalogue=CATALOGUE)
    with pytest.raises(ModelIntegrityError) as caught:
        getattr(store, method)("tiny")
    assert caught.value.details == {
        "name": "tiny",
        "path": str(folder / "model.bin"),
        "reason": "own_folder",
    }
    assert (folder / "model.bin").read_bytes() == WEIGHTS[:-1] + b"!"


def test_an_empty_folder_of_the_user_is_not_replaced_silently(
    tmp_path: Path, models_dir: Path, old_packages: Path
) -> None:
    store = ModelStore(models_dir, folders={"tiny": tmp_path / "nowhere"}, catalogue=CATALOGUE)
    assert store.state("tiny") is ModelState.MISSING
    with pytest.raises(ModelFileMissingError) as caught:
        store.ensure("tiny")
    assert caught.value.details["path"] == str(tmp_path / "nowhere" / "model.bin")


def test_a_models_folder_that_is_a_file_is_a_storage_error(
    tmp_path: Path, old_packages: Path
) -> None:
    (tmp_path / "file").write_text("x")
    store = ModelStore(tmp_path / "file" / "models", catalogue=CATALOGUE)
    with pytest.raises(ModelError) as caught:
        store.ensure("tiny")
    assert caught.value.details["reason"] == "storage"
    assert isinstance(caught.value.__cause__, OSError)


def test_too_little_disk_space_is_said_before_anything_is_written(
    store: ModelStore, models_dir: Path, old_packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(models_dir.parents[1])._replace(free=5 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ModelError) as caught:
        store.ensure("tiny")
    details = caught.value.details
    assert (details["reason"], details["free_mb"], details["needed_mb"]) == ("disk_full", 5, 66)
    assert not (models_dir / ".tiny.joining").exists()


CHILD = """
import sys
from pathlib import Path
from asr_core.models.store import ModelStore
from tests.unit.models.conftest import CATALOGUE
sys.stdout.write(str(ModelStore(Path(sys.argv[1]), catalogue=CATALOGUE).ensure("tiny")))
"""


def child(models_dir: Path, packages: Path) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{packages}"}
    command = [sys.executable, "-c", CHILD, str(models_dir)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


def test_two_processes_at_once_end_with_one_good_folder(
    models_dir: Path, old_packages: Path
) -> None:
    running = [child(models_dir, old_packages) for _ in range(2)]
    for process in running:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        assert out == str(models_dir / "tiny")
    assert visible(models_dir) == ["tiny"]
    assert ModelStore(models_dir, catalogue=CATALOGUE).verify("tiny") is ModelState.INSTALLED


def test_the_store_works_without_the_recognizers_libraries(tmp_path: Path) -> None:
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from asr_core.models.store import ModelStore\n"
        "state = ModelStore(Path(sys.argv[1])).state('whisper-base').value\n"
        "heavy = {'numpy', 'faster_whisper', 'ctranslate2', 'gradio'} & set(sys.modules)\n"
        "sys.stdout.write(json.dumps([state, sorted(heavy)]))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert json.loads(done.stdout) == ["missing", []]


@pytest.mark.model
@pytest.mark.parametrize("layout", WHISPER_BASE.layouts, ids=["first pair", "second pair"])
def test_the_real_packages_give_the_published_model(tmp_path: Path, layout: object) -> None:
    absent = [name for name in layout.packages if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    store = ModelStore(tmp_path)
    assert store.ensure("whisper-base") == tmp_path / "whisper-base"
    assert store.verify("whisper-base") is ModelState.INSTALLED
