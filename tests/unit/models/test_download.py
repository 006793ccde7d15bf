"""A download survives cut connections, refuses other content, and says when the hub is away."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asr_core.errors import ModelError, ModelIntegrityError, SettingsError
from asr_core.models.download import Download, fetch
from asr_core.models.inspection import ModelState
from asr_core.models.store import ModelStore
from asr_core.models.transport import FRUITLESS_TRIES, Pauses
from tests.unit.models.conftest import CATALOGUE, TINY, TOKENS, WEIGHTS, hubs_at, write_packages
from tests.unit.models.hub import Hub

MODEL, TOKENIZER = (
    "/someone/tiny/resolve/main/model.bin",
    "/someone/tiny/resolve/main/tokenizer.json",
)
TOTAL = len(WEIGHTS) + len(TOKENS)


def open_store(tmp_path: Path, hub_url: str) -> ModelStore:
    return ModelStore(tmp_path / "models", hubs=hubs_at(hub_url), catalogue=CATALOGUE)


def installed(tmp_path: Path) -> dict[str, bytes]:
    folder = tmp_path / "models" / "tiny"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


GOOD = {"model.bin": WEIGHTS, "tokenizer.json": TOKENS}


def test_install_fetches_verifies_and_reports_progress(tmp_path: Path, hub: Hub) -> None:
    seen: list[tuple[int, int]] = []
    store = open_store(tmp_path, f"{hub.url}/")
    folder = store.install("tiny", lambda done, total: seen.append((done, total)))
    assert folder == tmp_path / "models" / "tiny"
    assert installed(tmp_path) == GOOD
    assert [path for path, _ in hub.asked] == [MODEL, TOKENIZER]
    assert seen == sorted(seen)
    assert seen[-1] == (TOTAL, TOTAL)
    assert store.state("tiny") is store.verify("tiny") is ModelState.INSTALLED


def test_install_again_asks_nobody(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    store.install("tiny")
    hub.asked.clear()
    store.install("tiny")
    assert hub.asked == []


def test_packages_win_over_the_hub(tmp_path: Path, hub: Hub, old_packages: Path) -> None:
    open_store(tmp_path, hub.url).install("tiny")
    assert hub.asked == []
    assert installed(tmp_path) == GOOD


def test_damaged_packages_lead_to_the_hub(tmp_path: Path, hub: Hub, packages: Path) -> None:
    write_packages(packages, TINY.layouts[0], WEIGHTS[:9], WEIGHTS[10:], TOKENS)
    open_store(tmp_path, hub.url).install("tiny")
    assert installed(tmp_path) == GOOD


def test_a_damaged_copy_is_replaced_by_the_hubs(tmp_path: Path, hub: Hub) -> None:
    store = open_store(tmp_path, hub.url)
    (store.install("tiny") / "model.bin").write_bytes(b"short")
    assert store.state("tiny") is ModelState.DAMAGED
    store.install("tiny")
    assert installed(tmp_path) == GOOD


def test_a_cut_connection_is_resumed_where_it_broke(tmp_path: Path, hub: Hub) -> None:
    hub.cut_after = [1_000_000, 500_000]
    open_store(tmp_path, hub.url).install("tiny")
    assert installed(tmp_path) == GOOD
    assert [range_ for path, range_ in hub.asked if path == MODEL] == [
        "",
        "bytes=1000000-",
        "bytes=1500000-",
    ]


def test_a_later_call_resumes_what_an_earlier_one_left(tmp_path: Path, hub: Hub) -> None:
    hub.cut_after = [1_000_000] + [0] * FRUITLESS_TRIES
    store = open_store(tmp_path, hub.url)
    with pytest.raises(ModelError) as caught:
        store.install("tiny")
    assert caught.value.details["reason"] == "network"
    assert store.state("tiny") is ModelState.MISSING
    hub.asked.clear()
    open_store(tmp_path, hub.url).install("tiny")
    assert hub.asked == [(MODEL, "bytes=1000000-"), (TOKENIZER, "")]
    assert installed(tmp_path) == GOOD
    assert not (tmp_path / "models" / ".tiny.download").exists()


def test_a_server_without_ranges_is_read_from_the_start_again(tmp_path: Path, hub: Hub) -> None:
    hub.ranges = False
    hub.cut_after = [1_000_000]
    open_store(tmp_path, hub.url).install("tiny")
    assert installed(tmp_path) == GOOD


def test_a_server_that_announces_no_length_is_good_enough(tmp_path: Path, hub: Hub) -> None:
    hub.chunked = True
    open_store(tmp_path, hub.url).install("tiny")
    assert installed(tmp_path) == GOOD


def test_a_busy_server_is_asked_again(tmp_path: Path, hub: Hub) -> None:
    hub.statuses = [503, 429]
    open_store(tmp_path, hub.url).install("tiny")
    assert installed(tmp_path) == GOOD


def test_a_server_that_stays_busy_is_given_up(tmp_path: Path, hub: Hub) -> None:
    hub.statuses = [503] * 100
    with pytest.raises(ModelError) as caught:
        open_store(tmp_path, hub.url).install("tiny")
    assert caught.value.details["reason"] == "network"
    assert "503" in str(caught.value.details["cause"])
    assert len(hub.asked) == FRUITLESS_TRIES


def test_a_missing_file_is_not_asked_for_twice(tmp_path: Path, hub: Hub) -> None:
    del hub.files[MODEL]
    with pytest.raises(ModelError) as caught:
        open_store(tmp_path, hub.url).install("tiny")
    assert caught.value.code == "model"
    assert caught.value.details["reason"] == "network"
    assert caught.value.details["url"] == hub.url + MODEL
    assert "404" in str(caught.value.details["cause"])
    assert "ASR_HUB_URL" in caught.value.message
    assert len(hub.asked) == 1


@pytest.mark.parametrize(
    ("content", "chunked"),
    [
        pytest.param(WEIGHTS[:-1] + b"!", False, id="one other byte"),
        pytest.param(b"<html>log in</html>", False, id="a page instead"),
        pytest.param(WEIGHTS + b"more", False, id="longer"),
        pytest.param(WEIGHTS + b"more", True, id="longer, no length announced"),
    ],
)
def test_other_content_is_refused_and_not_kept(
    tmp_path: Path, hub: Hub, content: bytes, chunked: bool
) -> None:
    hub.files[MODEL] = content
    hub.chunked = chunked
    store = open_store(tmp_path, hub.url)
    with pytest.raises(ModelIntegrityError) as caught:
        store.install("tiny")
    assert caught.value.details == {
        "name": "tiny",
        "reason": "hub",
        "path": hub.url + MODEL,
        "file": "model.bin",
        "setting": "ASR_HUB_URL",
    }
    assert store.state("tiny") is ModelState.MISSING
    kept = (tmp_path / "models" / ".tiny.download").iterdir()
    assert sum(path.stat().st_size for path in kept) == 0


def test_a_wrong_beginning_from_another_server_is_fetched_anew(tmp_path: Path, hub: Hub) -> None:
    work = tmp_path / "models" / ".tiny.download"
    work.mkdir(parents=True)
    (work / "model.bin.part").write_bytes(b"?" * 1_000)
    open_store(tmp_path, hub.url).install("tiny")
    assert installed(tmp_path) == GOOD
    assert [range_ for path, range_ in hub.asked if path == MODEL] == ["bytes=1000-", ""]


def test_a_beginning_that_is_too_long_is_fetched_anew(tmp_path: Path, hub: Hub) -> None:
    work = tmp_path / "models" / ".tiny.download"
    work.mkdir(parents=True)
    (work / "model.bin.part").write_bytes(WEIGHTS + b"more")
    open_store(tmp_path, hub.url).install("tiny")
    assert installed(tmp_path) == GOOD


def test_a_shorter_file_on_the_server_is_refused_when_resuming(tmp_path: Path, hub: Hub) -> None:
    work = tmp_path / "models" / ".tiny.download"
    work.mkdir(parents=True)
    (work / "model.bin.part").write_bytes(WEIGHTS[:1_000])
    hub.files[MODEL] = WEIGHTS[:1_000]
    with pytest.raises(ModelIntegrityError):
        open_store(tmp_path, hub.url).install("tiny")


def test_no_server_at_all_is_a_network_error(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        with pytest.raises(ModelError) as caught:
            open_store(tmp_path, f"http://127.0.0.1:{unused.getsockname()[1]}").install("tiny")
    assert caught.value.details["reason"] == "network"
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("address", ["file:///etc", "hub.example", "ftp://hub.example", "http://"])
def test_only_http_addresses_are_used(tmp_path: Path, address: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(tmp_path, address).install("tiny")
    assert caught.value.details["name"] == "ASR_HUB_URL"


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cuts=st.lists(st.integers(min_value=1, max_value=len(WEIGHTS)), max_size=FRUITLESS_TRIES),
    ranges=st.booleans(),
)
def test_any_cuts_end_in_the_same_file(
    tmp_path: Path, hub: Hub, cuts: list[int], ranges: bool
) -> None:
    hub.cut_after, hub.ranges = list(cuts), ranges
    target = tmp_path / "model.bin"
    target.unlink(missing_ok=True)
    seen: list[int] = []
    weights, pauses = TINY.layouts[0].files[0], Pauses(wait=lambda pause_s: None)
    download = Download("tiny", hub.url + MODEL, weights, "ASR_HUB_URL", pauses)
    fetch(download, target, seen.append)
    assert target.read_bytes() == WEIGHTS
    assert seen[-1] == len(WEIGHTS)
    assert not target.with_name("model.bin.part").exists()
