"""A hub's list of files is believed only where it says plainly what it offers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asr_core.models.catalog import ListedFiles, ModelFile
from asr_core.models.listing import ListingError, file_url, find_offer, listing_url
from asr_core.models.transport import Pauses
from tests.unit.models.hub import Hub, entry, listing_path

REPO = "iic/one"
ONE = ListedFiles(repos=(REPO,), required=(("a.onnx",),))
PAUSES = Pauses(wait=lambda pause_s: None)
GOOD = entry("a.onnx", b"abc")


def problem(hub: Hub) -> str:
    with pytest.raises(ListingError) as caught:
        find_offer(hub.url, ONE, PAUSES)
    return str(caught.value)


def test_addresses_are_those_of_the_hubs_own_client() -> None:
    hub = "https://www.modelscope.cn"
    assert listing_url(hub, "iic/x") == (
        "https://www.modelscope.cn/api/v1/models/iic/x/repo/files?Recursive=True&Revision=master"
    )
    assert file_url(hub, "iic/x", "a b/模.onnx") == (
        "https://www.modelscope.cn/api/v1/models/iic/x/repo"
        "?Revision=master&FilePath=a%20b%2F%E6%A8%A1.onnx"
    )


def test_an_offer_has_sizes_and_hashes(hub: Hub) -> None:
    upper = GOOD["Sha256"].upper()
    hub.list_files(REPO, [{"Path": "docs", "Type": "tree"}, GOOD | {"Sha256": upper}])
    offer = find_offer(hub.url, ONE, PAUSES)
    assert (offer.repo, offer.files) == (REPO, (ModelFile("a.onnx", 3, GOOD["Sha256"]),))


@pytest.mark.parametrize(
    "path",
    ["../a", "x/../../a", "..", "/a", "//a", "", "\\a", "x\\..\\a", "a\0b", 7, None],
)
def test_one_path_that_leads_elsewhere_spoils_the_list(hub: Hub, path: object) -> None:
    hub.list_files(REPO, [GOOD, GOOD | {"Path": path}])
    assert problem(hub) == f"{REPO}: the path {path!r} leads out of the folder"


@pytest.mark.parametrize(
    "changes", [{"Mode": "120000"}, {"Mode": 120000}, {"Type": "link"}, {"Type": "tree"}]
)
def test_a_link_or_folder_in_place_of_a_file_counts_as_missing(
    hub: Hub, changes: dict[str, Any]
) -> None:
    hub.list_files(REPO, [GOOD | changes])
    assert problem(hub) == f"{REPO}: a.onnx missing"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"Size": -1}, "the size of a.onnx is -1"),
        ({"Size": "3"}, "the size of a.onnx is '3'"),
        ({"Size": True}, "the size of a.onnx is True"),
        ({"Size": None}, "the size of a.onnx is None"),
        ({"Sha256": ""}, "the SHA-256 of a.onnx is ''"),
        ({"Sha256": None}, "the SHA-256 of a.onnx is None"),
        ({"Sha256": "x" * 64}, f"the SHA-256 of a.onnx is {'x' * 64!r}"),
    ],
)
def test_a_file_without_size_or_hash_is_not_fetched(
    hub: Hub, changes: dict[str, Any], said: str
) -> None:
    hub.list_files(REPO, [GOOD | changes])
    assert problem(hub) == f"{REPO}: {said}"


def test_a_file_listed_twice_spoils_the_list(hub: Hub) -> None:
    hub.list_files(REPO, [GOOD, entry("a.onnx", b"other")])
    assert problem(hub) == f"{REPO}: a.onnx is listed twice"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>log in</html>", "the answer is no file list"),
        (b"\xff\xfe", "the answer is no file list"),
        (b"[]", "the answer is no file list"),
        (b'{"Data": {"Files": 3}}', "the answer is no file list"),
        (b'{"Data": {"Files": [3]}}', "the answer is no file list"),
        (b'{"Code": 1, "Data": null, "Message": "no such model"}', "no such model"),
        (json.dumps({"Message": "x" * 1000}).encode(), "x" * 200),
        (b" " * (9 << 20), f"the answer is longer than {8 << 20} bytes"),
    ],
)
def test_anything_else_is_no_list(hub: Hub, body: bytes, said: str) -> None:
    hub.files[listing_path(REPO)] = body
    assert problem(hub) == f"{REPO}: {said}"
