"""Fetch one file of a model over HTTP: resumed after a cut, checked before it gets its name.

Uses ``urllib.request``: the standard library follows redirects and the system's proxy settings,
and a start without any package installed can still fetch a model.
"""

from __future__ import annotations

import http.client
import logging
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from asr_core.errors import ModelError, ModelIntegrityError
from asr_core.models.catalog import ModelFile
from asr_core.models.files import BLOCK_BYTES, sha256_of, size_of, sync_folder, synced

TIMEOUT_S = 30.0
"""Longest wait for the server to connect or to send the next bytes."""

FRUITLESS_TRIES = 3
"""Consecutive tries without one new byte after which the network counts as unusable."""

_RETRYABLE_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Download:
    """What to fetch.

    Attributes:
        model: name of the model, for messages.
        url: ``http`` or ``https`` address of the file.
        file: expected length and content.
        retry_delay_s: pause before a connection that broke is tried again.
    """

    model: str
    url: str
    file: ModelFile
    retry_delay_s: float = 1.0


class _ConnectionBrokenError(Exception):
    """The server or the way to it failed in a manner that another try may mend."""


def fetch(download: Download, target: Path, on_bytes: Callable[[int], None]) -> None:
    """Fetch a file; what an earlier call left beside ``target`` is continued.

    Args:
        download: address and expected content.
        target: where the complete, verified file goes; its folder exists.
        on_bytes: called with the bytes of this file present so far.

    Raises:
        ModelIntegrityError: the server offers other content than the published one.
        ModelError: ``reason`` is ``network``; the server cannot be reached or refuses.
        OSError: the disk refused a write.
    """
    if size_of(target) == download.file.size_bytes and sha256_of(target) == download.file.sha256:
        on_bytes(download.file.size_bytes)
        return
    partial = target.with_name(f"{target.name}.part")
    resumed = bool(size_of(partial))
    _fill(download, partial, on_bytes)
    if sha256_of(partial) != download.file.sha256:
        partial.unlink()
        if not resumed:
            raise _wrong_content(download)
        # The beginning was written by an earlier process and may stem from another server.
        _log.warning("refetching model=%s file=%s", download.model, download.file.name)
        _fill(download, partial, on_bytes)
        if sha256_of(partial) != download.file.sha256:
            partial.unlink()
            raise _wrong_content(download)
    partial.replace(target)
    sync_folder(target.parent)


def _fill(download: Download, partial: Path, on_bytes: Callable[[int], None]) -> None:
    """Request the missing rest until the file has its full length."""
    expected = download.file.size_bytes
    if (size_of(partial) or 0) > expected:
        partial.unlink()
    most, fruitless = size_of(partial) or 0, 0
    while (size_of(partial) or 0) < expected:
        try:
            _request(download, partial, on_bytes)
            cause: _ConnectionBrokenError | None = None
        except _ConnectionBrokenError as exc:
            cause = exc
        present = size_of(partial) or 0
        if present >= expected:
            return
        fruitless = 0 if present > most else fruitless + 1
        most = max(most, present)
        if fruitless >= FRUITLESS_TRIES:
            raise _network(download, str(cause or "the connection ended early")) from cause
        _log.info("resuming model=%s file=%s at=%d", download.model, partial.stem, present)
        time.sleep(download.retry_delay_s)


def _request(download: Download, partial: Path, on_bytes: Callable[[int], None]) -> None:
    """One request for what is missing; appends, or starts over if the server sends everything."""
    present = size_of(partial) or 0
    # Only http and https addresses come here: the store refuses every other scheme.
    request = urllib.request.Request(download.url)  # noqa: S310
    if present:
        request.add_header("Range", f"bytes={present}-")
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_S)  # noqa: S310
    except urllib.error.HTTPError as exc:
        with exc:
            _refused(download, partial, exc)
        return
    except (OSError, http.client.HTTPException) as exc:
        raise _ConnectionBrokenError(str(exc)) from exc
    with response:
        start = _first_byte(download, response, present)
        with synced(partial, "r+b" if partial.exists() else "wb") as out:
            out.seek(start)
            out.truncate()
            _copy(download, response, out, on_bytes)


def _refused(download: Download, partial: Path, exc: urllib.error.HTTPError) -> None:
    if exc.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        # Nothing follows what is there, though it is too short: start from the first byte.
        partial.unlink(missing_ok=True)
        raise _ConnectionBrokenError(f"HTTP {exc.code}") from exc
    if exc.code in _RETRYABLE_STATUS:
        raise _ConnectionBrokenError(f"HTTP {exc.code}") from exc
    raise _network(download, f"HTTP {exc.code} {exc.reason}") from exc


def _first_byte(download: Download, response: http.client.HTTPResponse, present: int) -> int:
    """Position of the first byte of the body; 0 if the server ignored the range.

    Raises:
        ModelIntegrityError: the announced length is not the published one.
    """
    if response.status == http.HTTPStatus.PARTIAL_CONTENT:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if match is None or int(match[1]) != present:
            raise _network(download, "the server answered with another range")
        if match[2] not in ("*", str(download.file.size_bytes)):
            raise _wrong_content(download)
        return present
    length = response.headers.get("Content-Length")
    if length is not None and length != str(download.file.size_bytes):
        raise _wrong_content(download)
    return 0


def _copy(
    download: Download,
    response: http.client.HTTPResponse,
    out: BinaryIO,
    on_bytes: Callable[[int], None],
) -> None:
    while True:
        try:
            block = response.read1(BLOCK_BYTES)
        except (OSError, http.client.HTTPException) as exc:
            raise _ConnectionBrokenError(str(exc)) from exc
        if not block:
            return
        if out.tell() + len(block) > download.file.size_bytes:
            out.truncate(0)
            raise _wrong_content(download)
        out.write(block)
        on_bytes(out.tell())


def _network(download: Download, cause: str) -> ModelError:
    return ModelError(
        f"{download.url} cannot be fetched ({cause}); check the network, or set ASR_HUB_URL to a "
        "reachable mirror, or ASR_MODEL_DIR to a folder that holds the files",
        name=download.model,
        reason="network",
        url=download.url,
        cause=cause,
    )


def _wrong_content(download: Download) -> ModelIntegrityError:
    return ModelIntegrityError(
        f"{download.url} does not offer the published content of {download.file.name}; "
        "set ASR_HUB_URL to another mirror",
        name=download.model,
        path=download.url,
    )
