"""A tiny model in two layouts, packages that carry it, and a hub that misbehaves on request."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from asr_core.models.catalog import ModelEntry, ModelFile, ModelLayout, PackagePart

WEIGHTS = bytes(range(256)) * 12_000  # 3 MB: longer than one block of the store
TOKENS = b'{"tokens": ["\xe5\x90\xac"]}'
NEW_WEIGHTS = b"v2" + WEIGHTS


def _file(name: str, content: bytes, *parts: PackagePart) -> ModelFile:
    return ModelFile(name, len(content), hashlib.sha256(content).hexdigest(), parts)


def _layout(stem: str, weights: bytes) -> ModelLayout:
    first, second = f"{stem}_part1", f"{stem}_part2"
    halves = PackagePart(first, "data/model.bin.part1"), PackagePart(second, "data/model.bin.part2")
    tokens = PackagePart(second, "data/tokenizer.json")
    return ModelLayout(
        (_file("model.bin", weights, *halves), _file("tokenizer.json", TOKENS, tokens))
    )


TINY = ModelEntry(
    name="tiny",
    title="Tiny",
    licence="MIT",
    family="whisper",
    layouts=(_layout("tinglu_old_tiny", WEIGHTS), _layout("tinglu_new_tiny", NEW_WEIGHTS)),
    hub_repo="someone/tiny",
)
CATALOGUE = {"tiny": TINY}


def write_packages(folder: Path, layout: ModelLayout, *contents: bytes) -> None:
    """Lay out the layout's two packages; importing either of them fails."""
    first, second, tokens = contents
    files = {
        f"{layout.packages[0]}/data/model.bin.part1": first,
        f"{layout.packages[1]}/data/model.bin.part2": second,
        f"{layout.packages[1]}/data/tokenizer.json": tokens,
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        init = path.parent.parent / "__init__.py"
        init.write_text("raise RuntimeError('a data package was imported')\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path, empty so far."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.fixture
def old_packages(packages: Path) -> Path:
    write_packages(packages, TINY.layouts[0], WEIGHTS[:1_500_000], WEIGHTS[1_500_000:], TOKENS)
    return packages


@pytest.fixture
def new_packages(packages: Path) -> Path:
    write_packages(
        packages, TINY.layouts[1], NEW_WEIGHTS[:2_000_000], NEW_WEIGHTS[2_000_000:], TOKENS
    )
    return packages


@dataclass
class Hub:
    """What the hub holds and how it answers.

    Attributes:
        url: its address.
        files: path to content.
        ranges: whether it honours ``Range``.
        cut_after: bytes after which the connection is cut, one number per coming request.
        statuses: error answers given first, one per coming request.
        chunked: no length is announced.
        asked: ``(path, Range header)`` of every request.
    """

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    chunked: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)


def _handler(hub: Hub) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            hub.asked.append((self.path, asked))
            if hub.statuses:
                self.send_error(hub.statuses.pop(0))
                return
            content = hub.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            match = re.fullmatch(r"bytes=(\d+)-", asked)
            start = int(match[1]) if match and hub.ranges else 0
            if start and start >= len(content):
                self.send_error(416)
                return
            self._send(content, start, partial=bool(match and hub.ranges))

        def _send(self, content: bytes, start: int, *, partial: bool) -> None:
            self.send_response(206 if partial else 200)
            if partial:
                last, total = len(content) - 1, len(content)
                self.send_header("Content-Range", f"bytes {start}-{last}/{total}")
            body = content[start:]
            if not hub.chunked:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if hub.cut_after:
                body = body[: hub.cut_after.pop(0)]
            with contextlib.suppress(ConnectionError):  # a client that refuses hangs up
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test output clean."""

    return Handler


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A running hub that holds the tiny model's preferred layout."""
    state = Hub(url="")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    state.url = f"http://127.0.0.1:{server.server_port}"
    state.files = {
        "/someone/tiny/resolve/main/model.bin": WEIGHTS,
        "/someone/tiny/resolve/main/tokenizer.json": TOKENS,
    }
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local hub is asked directly on machines behind a proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(autouse=True)
def forget_packages() -> Iterator[None]:
    """Modules of the tiny packages, were one imported, must not leak into the next test."""
    yield
    assert not [name for name in sys.modules if name.startswith("tinglu_")]
