"""Models whose contents the hub states: installed whole and verified, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from asr_core.errors import (
    ModelError,
    ModelFileMissingError,
    ModelIntegrityError,
    SettingsError,
)
from asr_core.models.inspection import ModelState
from asr_core.models.manifest import MANIFEST_FILE
from asr_core.models.shipment import Hubs
from asr_core.models.store import ModelStore
from asr_core.models.transport import FRUITLESS_TRIES, Pauses
from tests.unit.models.conftest import (
    CATALOGUE,
    LISTED,
    OTHER_REPO,
    REPO,
    WEIGHTS,
    hubs_at,
)
from tests.unit.models.hub import Hub, entry, file_path, listing_path

ROOT = Path(__file__).resolve().parents[3]
NETWORK = file_path(REPO, "model_quant.onnx")
TOTAL = sum(len(content) for content in LISTED.values())


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def waited() -> list[float]:
    """Pauses that the store would have made, in seconds."""
    return []


@pytest.fixture
def store(models_dir: Path, hub: Hub, waited: list[float]) -> ModelStore:
    return ModelStore(models_dir, hubs=hubs_at(hub.url, waited), catalogue=CATALOGUE)


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder but for the manifest."""
    names = sorted(path.name for path in folder.iterdir())
    return {name: (folder / name).read_bytes() for name in names if name != MANIFEST_FILE}


def ranges(hub: Hub) -> list[str]:
    """The ranges asked of the network file."""
    return [range_ for path, range_ in hub.asked if path == NETWORK]


def write_folder(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


# Installing


def test_install_fetches_what_the_hub_lists_and_verifies_it(
    store: ModelStore, models_dir: Path, hub: Hub
) -> None:
    assert (store.state("speech"), store.size_bytes("speech")) == (ModelState.MISSING, None)
    seen: list[tuple[int, int]] = []
    folder = store.install("speech", lambda done, total: seen.append((done, total)))
    assert folder == models_dir / "speech" == store.ensure("speech")
    assert contents(folder) == LISTED
    assert seen == sorted(seen)
    assert seen[-1] == (TOTAL, TOTAL)
    assert store.state("speech") is store.verify("speech") is ModelState.INSTALLED
    assert (store.size_bytes("speech"), store.source("speech")) == (TOTAL, REPO)
    assert hub.asked_lists == [listing_path(REPO)]
    assert [path for path, _ in hub.asked] == [file_path(REPO, name) for name in LISTED]
    assert all(agent.startswith("tinglu/") for agent in hub.agents)


def test_the_manifest_tells_where_everything_is_from(store: ModelStore, hub: Hub) -> None:
    before = datetime.now(timezone.utc).replace(microsecond=0)
    folder = store.install("speech")
    manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    installed_at = datetime.fromisoformat(manifest.pop("installed_at"))
    assert before <= installed_at <= datetime.now(timezone.utc)
    listed = [entry(name, content) for name, content in LISTED.items()]
    assert manifest == {
        "schema": 1,
        "model": "speech",
        "hub": hub.url,
        "repo": REPO,
        "revision": "master",
        "files": [
            {"path": item["Path"], "size": item["Size"], "sha256": item["Sha256"]}
            for item in listed
        ],
    }


def test_install_again_asks_nobody(store: ModelStore, hub: Hub) -> None:
    store.install("speech")
    hub.asked.clear()
    hub.asked_lists.clear()
    store.install("speech")
    assert (hub.asked, hub.asked_lists) == ([], [])


def test_optional_files_and_second_names_are_taken_where_listed(
    store: ModelStore, hub: Hub
) -> None:
    files = {**LISTED, "model.onnx": b"full", "seg_dict": b"a a\n", "README.md": b"# x"}
    del files["model_quant.onnx"]
    hub.offer(REPO, files, {"Path": "example", "Type": "tree"})
    del files["README.md"]
    assert contents(store.install("speech")) == files


def test_the_preferred_name_is_taken_alone(store: ModelStore, hub: Hub) -> None:
    hub.offer(REPO, {**LISTED, "model.onnx": b"full"})
    assert contents(store.install("speech")) == LISTED


@pytest.mark.parametrize("first", ["absent", "incomplete", "says no"])
def test_another_repository_takes_the_place_of_one_without_the_files(
    store: ModelStore, hub: Hub, first: str
) -> None:
    if first == "absent":
        del hub.files[listing_path(REPO)]
    elif first == "incomplete":
        hub.offer(REPO, {"config.yaml": b"x"})
    else:
        hub.files[listing_path(REPO)] = b'{"Code": 404, "Message": "no such model"}'
    hub.offer(OTHER_REPO, LISTED)
    assert contents(store.install("speech")) == LISTED
    assert store.source("speech") == OTHER_REPO
    assert hub.asked_lists == [listing_path(REPO), listing_path(OTHER_REPO)]


def test_a_hub_without_the_model_names_what_each_repository_lacks(
    store: ModelStore, models_dir: Path, hub: Hub
) -> None:
    hub.offer(REPO, {"config.yaml": b"x", "tokens.json": b"[]"})
    with pytest.raises(ModelError) as caught:
        store.install("speech")
    details = caught.value.details
    assert (details["reason"], details["setting"]) == ("listing", "ASR_MODELSCOPE_URL")
    assert details["cause"] == (
        f"{REPO}: model_quant.onnx / model.onnx missing; {OTHER_REPO}: HTTP 404 Not Found"
    )
    assert not (models_dir / "speech").exists()


# Broken connections and servers that misbehave


def test_a_cut_connection_is_resumed_where_it_broke(store: ModelStore, hub: Hub) -> None:
    hub.cut_after = [10**9, 10**9, 1_000_000, 500_000]
    assert contents(store.install("speech")) == LISTED
    assert ranges(hub) == ["", "bytes=1000000-", "bytes=1500000-"]


def test_a_file_that_lies_elsewhere_is_resumed_there(store: ModelStore, hub: Hub) -> None:
    hub.moved = True
    hub.cut_after = [10**9, 10**9, 1_000_000]
    assert contents(store.install("speech")) == LISTED
    asked = [request for request in hub.asked if request[0].endswith(NETWORK)]
    elsewhere = f"/elsewhere{NETWORK}"
    whole, rest = "", "bytes=1000000-"
    assert asked == [(NETWORK, whole), (elsewhere, whole), (NETWORK, rest), (elsewhere, rest)]


def test_a_server_without_ranges_is_read_from_the_start_again(store: ModelStore, hub: Hub) -> None:
    hub.ranges = False
    hub.cut_after = [10**9, 10**9, 1_000_000]
    assert contents(store.install("speech")) == LISTED


def test_a_later_install_goes_on_where_an_earlier_one_stopped(
    store: ModelStore, models_dir: Path, hub: Hub
) -> None:
    hub.cut_after = [10**9, 10**9, 1_000_000] + [0] * FRUITLESS_TRIES
    with pytest.raises(ModelError) as caught:
        store.install("speech")
    assert (caught.value.details["reason"], caught.value.details["file"]) == (
        "network",
        "model_quant.onnx",
    )
    assert not (models_dir / "speech").exists()
    hub.asked.clear()
    assert contents(store.install("speech")) == LISTED
    assert hub.asked == [(NETWORK, "bytes=1000000-")]
    assert not (models_dir / ".speech.download").exists()


def test_what_the_hub_has_replaced_meanwhile_is_fetched_anew(
    store: ModelStore, models_dir: Path, hub: Hub
) -> None:
    work = write_folder(models_dir / ".speech.download", {"model_quant.onnx.part": b"?" * 1_000})
    (work / "tokens.json").write_bytes(b"old")
    (work / "model.onnx.part").write_bytes(b"of another choice")
    assert contents(store.install("speech")) == LISTED


def test_pauses_double_and_a_server_may_ask_for_longer_ones(
    store: ModelStore, hub: Hub, waited: list[float]
) -> None:
    hub.statuses = [503, 500, (429, "7"), 502]
    assert contents(store.install("speech")) == LISTED
    assert waited == [1.0, 2.0, 7.0, 8.0]


def test_a_busy_server_is_given_up_after_some_tries(
    store: ModelStore, hub: Hub, waited: list[float]
) -> None:
    hub.statuses = [503] * 100
    with pytest.raises(ModelError) as caught:
        store.install("speech")
    details = caught.value.details
    assert (details["reason"], details["file"], details["cause"]) == (
        "network",
        "config.yaml",
        "HTTP 503",
    )
    assert details["setting"] == "ASR_MODELSCOPE_URL"
    assert len(hub.asked) == FRUITLESS_TRIES == len(waited) + 1


def test_a_list_is_asked_for_again_too(store: ModelStore, hub: Hub, waited: list[float]) -> None:
    hub.troubled_lists = True
    hub.statuses = [503, (503, "3")]
    hub.cut_after = [20]
    assert contents(store.install("speech")) == LISTED
    assert waited == [1.0, 3.0, 4.0]
    assert len(hub.asked_lists) == 4


def test_a_hub_out_of_reach_is_a_network_error_that_names_the_setting(
    store: ModelStore, hub: Hub, waited: list[float]
) -> None:
    hub.troubled_lists = True
    hub.statuses = [502] * FRUITLESS_TRIES
    with pytest.raises(ModelError) as caught:
        store.install("speech")
    details = caught.value.details
    assert (details["reason"], details["file"], details["setting"]) == (
        "network",
        REPO,
        "ASR_MODELSCOPE_URL",
    )
    assert details["url"] == hub.url + listing_path(REPO)
    assert len(waited) == FRUITLESS_TRIES - 1


@pytest.mark.parametrize("length", [len(WEIGHTS) + 1, len(WEIGHTS) - 1, 0])
def test_a_length_that_is_not_the_listed_one_is_refused(
    store: ModelStore, models_dir: Path, hub: Hub, length: int
) -> None:
    hub.lengths = [len(LISTED["config.yaml"]), len(LISTED["tokens.json"]), length]
    with pytest.raises(ModelIntegrityError) as caught:
        store.install("speech")
    assert caught.value.details == {
        "name": "speech",
        "reason": "hub",
        "path": hub.url + NETWORK,
        "file": "model_quant.onnx",
        "setting": "ASR_MODELSCOPE_URL",
    }
    assert not (models_dir / "speech").exists()


def test_wrong_bytes_are_fetched_once_more_and_then_refused_by_name(
    store: ModelStore, models_dir: Path, hub: Hub
) -> None:
    hub.files[NETWORK] = WEIGHTS[:-1] + b"!"
    with pytest.raises(ModelIntegrityError) as caught:
        store.install("speech")
    assert caught.value.details["file"] == "model_quant.onnx"
    assert ranges(hub) == ["", ""]
    assert not (models_dir / "speech").exists()
    left = {path.name for path in (models_dir / ".speech.download").iterdir()}
    assert left == {"config.yaml", "tokens.json"}


def test_a_listed_file_that_the_hub_does_not_have_is_named_at_once(
    store: ModelStore, hub: Hub, waited: list[float]
) -> None:
    del hub.files[NETWORK]
    with pytest.raises(ModelError) as caught:
        store.install("speech")
    details = caught.value.details
    assert (details["reason"], details["file"]) == ("network", "model_quant.onnx")
    assert str(details["cause"]).startswith("HTTP 404")
    assert (len(ranges(hub)), waited) == (1, [])


@pytest.mark.parametrize("address", ["file:///etc", "hub.example", "ftp://hub.example", ""])
def test_only_http_addresses_are_used(models_dir: Path, address: str) -> None:
    store = ModelStore(models_dir, hubs=Hubs(modelscope=address), catalogue=CATALOGUE)
    with pytest.raises(SettingsError) as caught:
        store.install("speech")
    assert caught.value.details["name"] == "ASR_MODELSCOPE_URL"


def test_a_proxy_of_the_environment_is_used(
    models_dir: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", hub.url)
    hubs = Hubs(modelscope="http://hub.invalid/", pauses=Pauses(wait=lambda pause_s: None))
    store = ModelStore(models_dir, hubs=hubs, catalogue=CATALOGUE)
    assert contents(store.install("speech")) == LISTED
    assert hub.hosts == {"hub.invalid"}


def test_too_little_disk_space_is_said_before_a_file_is_fetched(
    store: ModelStore, models_dir: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(models_dir.parent)._replace(free=5 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ModelError) as caught:
        store.install("speech")
    details = caught.value.details
    assert (details["reason"], details["free_mb"], details["needed_mb"]) == ("disk_full", 5, 66)
    assert hub.asked == []


# Several processes, and an end in the middle

CHILD = """
import sys
from pathlib import Path
from asr_core.models.store import ModelStore
from tests.unit.models.conftest import CATALOGUE, hubs_at

def tell(done, total):
    sys.stdout.write(f"{done}\\n")
    sys.stdout.flush()

store = ModelStore(Path(sys.argv[1]), hubs=hubs_at(sys.argv[2]), catalogue=CATALOGUE)
store.install("speech", tell)
"""


def child(models_dir: Path, hub: Hub) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(models_dir), hub.url]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


def test_of_two_processes_at_once_one_fetches(
    store: ModelStore, models_dir: Path, hub: Hub
) -> None:
    running = [child(models_dir, hub) for _ in range(2)]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
    assert contents(models_dir / "speech") == LISTED
    assert store.verify("speech") is ModelState.INSTALLED
    assert len(hub.asked) == len(LISTED)


def test_ctrl_c_leaves_a_beginning_and_no_half_model(
    store: ModelStore, models_dir: Path, hub: Hub
) -> None:
    hub.stall_after = 2_000_000
    with child(models_dir, hub) as process:
        done = 0
        for line in process.stdout or ():
            done = int(line)
            if done > 1_000_000:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert process.returncode != 0
    assert not (models_dir / "speech").exists()
    part = models_dir / ".speech.download" / "model_quant.onnx.part"
    kept = part.stat().st_size
    assert done - (TOTAL - len(WEIGHTS)) <= kept <= 2_000_000
    assert part.read_bytes() == WEIGHTS[:kept]
    hub.stall_after = None
    hub.asked.clear()
    assert contents(store.install("speech")) == LISTED
    assert ranges(hub) == [f"bytes={kept}-"]


# Folders that are there already


def test_a_folder_of_the_user_is_used_as_it_is(tmp_path: Path, models_dir: Path, hub: Hub) -> None:
    files = {**LISTED, "model.pt": b"more than we need"}
    folder = write_folder(tmp_path / "cache" / "iic" / "speech-onnx", files)
    store = ModelStore(
        models_dir, folders={"speech": folder}, hubs=hubs_at(hub.url), catalogue=CATALOGUE
    )
    assert store.ensure("speech") == folder == store.install("speech") == store.folder("speech")
    assert store.state("speech") is store.verify("speech") is ModelState.PRESENT
    assert (store.size_bytes("speech"), store.source("speech")) == (TOTAL, "")
    assert contents(folder) == files
    assert (hub.asked, hub.asked_lists) == ([], [])


def test_a_folder_in_the_models_folder_is_found(store: ModelStore, models_dir: Path) -> None:
    folder = write_folder(models_dir / "speech", LISTED)
    assert store.ensure("speech") == folder
    assert store.state("speech") is ModelState.PRESENT


@pytest.mark.parametrize("method", ["ensure", "install"])
def test_every_file_that_a_folder_of_the_user_lacks_is_named_in_one_error(
    tmp_path: Path, models_dir: Path, hub: Hub, method: str
) -> None:
    folder = write_folder(tmp_path / "stick", {"config.yaml": b"x", "seg_dict": b""})
    store = ModelStore(
        models_dir, folders={"speech": folder}, hubs=hubs_at(hub.url), catalogue=CATALOGUE
    )
    assert store.state("speech") is ModelState.DAMAGED
    with pytest.raises(ModelFileMissingError) as caught:
        getattr(store, method)("speech")
    assert caught.value.details == {
        "name": "speech",
        "path": str(folder / "tokens.json"),
        "reason": "own_folder",
        "files": "tokens.json, model_quant.onnx / model.onnx",
        "folder": str(folder),
    }


def test_a_model_that_is_nowhere_is_not_installed(store: ModelStore, models_dir: Path) -> None:
    with pytest.raises(ModelFileMissingError) as caught:
        store.ensure("speech")
    path = models_dir / "speech" / "config.yaml"
    assert caught.value.details == {"name": "speech", "path": str(path)}
    assert "./run.sh models install speech" in caught.value.message


def test_what_is_missing_from_a_folder_in_the_models_folder_is_named(
    store: ModelStore, models_dir: Path
) -> None:
    write_folder(models_dir / "speech", {"model.onnx": b"x"})
    with pytest.raises(ModelFileMissingError) as caught:
        store.ensure("speech")
    assert (caught.value.details["reason"], caught.value.details["files"]) == (
        "files",
        "config.yaml, tokens.json",
    )


def test_an_incomplete_folder_of_somebody_else_is_kept_aside(
    store: ModelStore, models_dir: Path
) -> None:
    first = {"config.yaml": b"mine", "model.pt": b"a large one"}
    write_folder(models_dir / "speech", first)
    write_folder(models_dir / "speech.old-1", {"x": b"y"})
    assert contents(store.install("speech")) == LISTED
    assert contents(models_dir / "speech.old-2") == first
    assert contents(models_dir / "speech.old-1") == {"x": b"y"}


def test_a_link_to_somebody_elses_folder_is_kept_aside(
    store: ModelStore, models_dir: Path, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "cache", {"config.yaml": b"theirs"})
    models_dir.mkdir()
    (models_dir / "speech").symlink_to(folder)
    store.install("speech")
    assert not (models_dir / "speech").is_symlink()
    assert contents(folder) == {"config.yaml": b"theirs"}


def damage(path: Path) -> None:
    """Change one byte; length stays, modification time moves."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(0, 1))


def test_one_wrong_byte_is_found_and_mended_by_installing_again(
    store: ModelStore, models_dir: Path
) -> None:
    network = store.install("speech") / "model_quant.onnx"
    damage(network)
    assert store.state("speech") is store.verify("speech") is ModelState.DAMAGED
    with pytest.raises(ModelIntegrityError) as caught:
        store.ensure("speech")
    assert caught.value.details == {"name": "speech", "path": str(network)}
    assert contents(store.install("speech")) == LISTED
    assert sorted(path.name for path in models_dir.iterdir() if path.name[0] != ".") == ["speech"]


def test_a_copied_installation_is_verified_elsewhere_too(store: ModelStore, tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    shutil.copytree(store.install("speech"), stick)
    other = ModelStore(tmp_path / "other", folders={"speech": stick}, catalogue=CATALOGUE)
    assert other.state("speech") is ModelState.INSTALLED
    damage(stick / "tokens.json")
    assert other.verify("speech") is ModelState.DAMAGED
    with pytest.raises(ModelIntegrityError) as caught:
        other.ensure("speech")
    assert caught.value.details["reason"] == "own_folder"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xff\x00", id="no text"),
        pytest.param(b"{}", id="no content"),
        pytest.param(b"[]", id="another kind"),
        pytest.param(b'{"schema": 2}', id="of a newer version"),
        pytest.param(
            b'{"schema": 1, "model": "", "hub": "", "repo": "", "revision": "", '
            b'"installed_at": "", "files": []}',
            id="no files",
        ),
    ],
)
def test_a_damaged_manifest_is_damage_and_named(store: ModelStore, content: bytes) -> None:
    manifest = store.install("speech") / MANIFEST_FILE
    manifest.write_bytes(content)
    assert store.state("speech") is ModelState.DAMAGED
    assert store.source("speech") == ""
    with pytest.raises(ModelIntegrityError) as caught:
        store.ensure("speech")
    assert caught.value.details["path"] == str(manifest)
    store.install("speech")
    assert store.verify("speech") is ModelState.INSTALLED


@pytest.mark.parametrize(
    "path", ["../../secret", "/etc/passwd", "model_quant.onnx"], ids=["above", "root", "too few"]
)
def test_a_manifest_vouches_for_the_model_in_its_folder_and_nothing_else(
    store: ModelStore, path: str
) -> None:
    manifest = store.install("speech") / MANIFEST_FILE
    document = json.loads(manifest.read_text(encoding="utf-8"))
    document["files"] = [{"path": path, "size": 1, "sha256": "0" * 64}]
    manifest.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ModelIntegrityError) as caught:
        store.ensure("speech")
    assert caught.value.details["path"] == str(manifest)


def test_a_lost_optional_file_of_an_installation_is_damage(store: ModelStore, hub: Hub) -> None:
    hub.offer(REPO, {**LISTED, "seg_dict": b"a a\n"})
    (store.install("speech") / "seg_dict").unlink()
    assert store.state("speech") is ModelState.DAMAGED
    with pytest.raises(ModelFileMissingError) as caught:
        store.ensure("speech")
    assert caught.value.details["files"] == "seg_dict"
