"""A model hub on this machine, which misbehaves on request."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

_ELSEWHERE = "/elsewhere"


def listing_path(repo: str) -> str:
    return f"/api/v1/models/{repo}/repo/files?Recursive=True&Revision=master"


def file_path(repo: str, name: str) -> str:
    return f"/api/v1/models/{repo}/repo?Revision=master&FilePath={name}"


def entry(path: str, content: bytes, **changes: Any) -> dict[str, Any]:
    """One file as the hub lists it."""
    facts = {"Size": len(content), "Sha256": hashlib.sha256(content).hexdigest()}
    return {"Path": path, "Name": path, "Type": "blob", "Mode": "33188", **facts, **changes}


@dataclass
class Hub:
    """What the hub holds and how it answers.

    Attributes:
        url: its address.
        files: path to content.
        ranges: whether it honours ``Range``.
        cut_after: bytes after which the connection is cut, one number per coming file.
        statuses: error answers given first, one per coming file, with ``Retry-After`` or without.
        lengths: lengths announced instead of the true ones, one per coming file.
        chunked: no length is announced.
        moved: whether it sends clients that ask for a file to another address.
        stall_after: bytes after which nothing more comes until ``goes_on`` is set; then
            ``stalled`` is set.
        troubled_lists: whether cuts and errors also befall file lists.
        asked: ``(path, Range header)`` of every request for a file.
        asked_lists: paths of every request for a file list.
        agents: what the clients call themselves.
        hosts: whose files were asked for, as a proxy sees it.
    """

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)
    statuses: list[int | tuple[int, str]] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    chunked: bool = False
    moved: bool = False
    stall_after: int | None = None
    stalled: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)
    troubled_lists: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)
    asked_lists: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)

    def offer(self, repo: str, contents: Mapping[str, bytes], *more: Mapping[str, Any]) -> None:
        """Hold a repository: its files, and a list of them with more entries."""
        self.files |= {file_path(repo, name): content for name, content in contents.items()}
        entries = [entry(name, content) for name, content in contents.items()]
        self.list_files(repo, [*entries, *more])

    def list_files(self, repo: str, entries: object) -> None:
        """Make the list of a repository say this."""
        document = {"Code": 200, "Data": {"Files": entries}, "Message": "", "Success": True}
        self.files[listing_path(repo)] = json.dumps(document).encode()


def _handler(hub: Hub) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            is_list = parts.path.endswith("/repo/files")
            asked = self.headers.get("Range", "")
            hub.agents.add(self.headers["User-Agent"])
            hub.hosts.add(parts.hostname or "")
            if is_list:
                hub.asked_lists.append(path)
            else:
                hub.asked.append((path, asked))
            troubled = hub.troubled_lists or not is_list
            content = hub.files.get(path.removeprefix(_ELSEWHERE))
            if hub.moved and not is_list and not path.startswith(_ELSEWHERE):
                self.send_response(302)
                self.send_header("Location", f"{hub.url}{_ELSEWHERE}{path}")
                self.end_headers()
            elif troubled and hub.statuses:
                self._refuse(hub.statuses.pop(0))
            elif content is None:
                self._refuse(404)
            else:
                self._answer(content, asked, troubled)

        def _refuse(self, status: int | tuple[int, str]) -> None:
            code, wait = status if isinstance(status, tuple) else (status, "")
            self.send_response(code)
            if wait:
                self.send_header("Retry-After", wait)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _answer(self, content: bytes, asked: str, troubled: bool) -> None:
            match = re.fullmatch(r"bytes=(\d+)-", asked)
            start = int(match[1]) if match and hub.ranges else 0
            if start and start >= len(content):
                self._refuse(416)
                return
            self._send(content, start, bool(match and hub.ranges), troubled)

        def _send(self, content: bytes, start: int, partial: bool, troubled: bool) -> None:
            self.send_response(206 if partial else 200)
            if partial:
                last, total = len(content) - 1, len(content)
                self.send_header("Content-Range", f"bytes {start}-{last}/{total}")
            body = content[start:]
            length = hub.lengths.pop(0) if troubled and hub.lengths else len(body)
            if not hub.chunked:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            if troubled and hub.cut_after:
                body = body[: hub.cut_after.pop(0)]
            with contextlib.suppress(ConnectionError):  # a client that refuses hangs up
                if troubled and hub.stall_after is not None:
                    self.wfile.write(body[: hub.stall_after])
                    hub.stalled.set()
                    hub.goes_on.wait()
                    return
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test output clean."""

    return Handler


@contextlib.contextmanager
def running_hub() -> Iterator[Hub]:
    """An empty hub that answers until the block ends."""
    state = Hub(url="")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.goes_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
