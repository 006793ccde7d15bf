"""Fetch one file of a model over HTTP: resumed after a cut, checked before it gets its name."""

from __future__ import annotations

import http.client
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from asr_core.errors import ModelError, ModelIntegrityError
from asr_core.models.catalog import ModelFile
from asr_core.models.files import BLOCK_BYTES, sha256_of, size_of, sync_folder, synced
from asr_core.models.transport import (
    FRUITLESS_TRIES,
    BrokenConnectionError,
    Pauses,
    RefusedError,
    open_url,
)

_CONTENT_TRIES = 2
"""Times that a whole file with other content than announced is fetched."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Download:
    """What to fetch.

    Attributes:
        model: name of the model, for messages.
        url: ``http`` or ``https`` address of the file.
        file: expected length and content.
        setting: variable that names the hub, for messages.
        pauses: between two tries.
    """

    model: str
    url: str
    file: ModelFile
    setting: str
    pauses: Pauses = field(default_factory=Pauses)


def fetch(download: Download, target: Path, on_bytes: Callable[[int], None]) -> None:
    """Fetch a file; what an earlier call left beside ``target`` is continued.

    Args:
        download: address and expected content.
        target: where the complete, verified file goes; its folder exists.
        on_bytes: called with the bytes of this file present so far.

    Raises:
        ModelIntegrityError: the server offers other content than the announced one.
        ModelError: ``reason`` is ``network``; the server cannot be reached or refuses.
        OSError: the disk refused a write.
    """
    if size_of(target) == download.file.size_bytes and sha256_of(target) == download.file.sha256:
        on_bytes(download.file.size_bytes)
        return
    partial = target.with_name(f"{target.name}.part")
    for _ in range(_CONTENT_TRIES):
        _fill(download, partial, on_bytes)
        if sha256_of(partial) == download.file.sha256:
            partial.replace(target)
            sync_folder(target.parent)
            return
        # The beginning may have been written by an earlier process and stem from another server.
        partial.unlink()
        _log.warning("wrong content model=%s file=%s", download.model, download.file.name)
    raise _wrong_content(download)


def unreachable(model: str, file: str, url: str, setting: str, cause: str) -> ModelError:
    """The error for a hub that does not give a file."""
    return ModelError(
        f"{file} of model {model} cannot be fetched from {url} ({cause}); check the network, set "
        f"{setting} to a reachable mirror, or copy the model's folder from another machine",
        name=model,
        reason="network",
        file=file,
        url=url,
        setting=setting,
        cause=cause,
    )


def _fill(download: Download, partial: Path, on_bytes: Callable[[int], None]) -> None:
    """Request the missing rest until the file has its full length."""
    expected = download.file.size_bytes
    if (size_of(partial) or 0) > expected:
        partial.unlink()
    if not expected:
        partial.touch()
    most, fruitless = size_of(partial) or 0, 0
    while (size_of(partial) or 0) < expected:
        try:
            _request(download, partial, on_bytes)
            cause = BrokenConnectionError("the connection ended early")
        except BrokenConnectionError as exc:
            cause = exc
        present = size_of(partial) or 0
        if present >= expected:
            return
        fruitless = 0 if present > most else fruitless + 1
        most = max(most, present)
        if fruitless >= FRUITLESS_TRIES:
            raise _network(download, str(cause)) from cause
        _log.info("resuming model=%s file=%s at=%d", download.model, partial.stem, present)
        download.pauses.take(fruitless, cause.wait_s)


def _request(download: Download, partial: Path, on_bytes: Callable[[int], None]) -> None:
    """One request for what is missing; appends, or starts over if the server sends everything."""
    present = size_of(partial) or 0
    try:
        response = open_url(download.url, present)
    except RefusedError as exc:
        if exc.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            # Nothing follows what is there, though it is too short: start from the first byte.
            partial.unlink(missing_ok=True)
            raise BrokenConnectionError(str(exc)) from exc
        raise _network(download, str(exc)) from exc
    with response:
        start = _first_byte(download, response, present)
        with synced(partial, "r+b" if partial.exists() else "wb") as out:
            out.seek(start)
            out.truncate()
            _copy(download, response, out, on_bytes)


def _first_byte(download: Download, response: http.client.HTTPResponse, present: int) -> int:
    """Position of the first byte of the body; 0 if the server ignored the range.

    Raises:
        ModelIntegrityError: the announced length is not the expected one.
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
            raise BrokenConnectionError(str(exc)) from exc
        if not block:
            return
        if out.tell() + len(block) > download.file.size_bytes:
            out.truncate(0)
            raise _wrong_content(download)
        out.write(block)
        on_bytes(out.tell())


def _network(download: Download, cause: str) -> ModelError:
    return unreachable(download.model, download.file.name, download.url, download.setting, cause)


def _wrong_content(download: Download) -> ModelIntegrityError:
    return ModelIntegrityError(
        f"{download.url} does not offer the announced content of {download.file.name}; "
        f"set {download.setting} to another mirror",
        name=download.model,
        reason="hub",
        path=download.url,
        file=download.file.name,
        setting=download.setting,
    )
