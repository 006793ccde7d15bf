"""One HTTP request, and the pauses between tries.

Uses ``urllib.request``: the standard library follows redirects and the system's proxy settings,
and a start without any package installed can still fetch a model.
"""

from __future__ import annotations

import email.utils
import http.client
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from asr_core import __version__

TIMEOUT_S = 30.0
"""Longest wait for the server to connect or to send the next bytes."""

FRUITLESS_TRIES = 5
"""Consecutive tries without one new byte after which the network counts as unusable."""

_RETRYABLE_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class BrokenConnectionError(Exception):
    """The server or the way to it failed in a manner that another try may mend.

    Attributes:
        wait_s: pause that the server asked for.
    """

    def __init__(self, cause: str, wait_s: float = 0.0) -> None:
        super().__init__(cause)
        self.wait_s = wait_s


class RefusedError(Exception):
    """The server gave an answer that another try will not change."""

    def __init__(self, status: int, cause: str) -> None:
        super().__init__(cause)
        self.status = status


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long to wait before a request is tried again.

    The pause doubles with every fruitless try; half of it is left to chance, so that several
    machines do not come back together. A pause that the server asks for is kept.

    Attributes:
        first_s: after the first fruitless try.
        longest_s: of the pauses that grow.
        longest_asked_s: of the pauses that a server asks for.
        wait: does the waiting.
        chance: a number in [0, 1).
    """

    first_s: float = 1.0
    longest_s: float = 30.0
    longest_asked_s: float = 120.0
    wait: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.SystemRandom().random

    def take(self, fruitless: int, asked_s: float = 0.0) -> None:
        """Wait after a try; ``fruitless`` tries in a row brought nothing new."""
        pause_s = min(self.longest_s, self.first_s * 2.0 ** max(fruitless - 1, 0))
        pause_s *= 0.5 + 0.5 * self.chance()
        self.wait(max(pause_s, min(asked_s, self.longest_asked_s)))


def open_url(url: str, start: int = 0) -> http.client.HTTPResponse:
    """Ask for a document, or for the rest of it.

    Args:
        url: ``http`` or ``https`` address; the caller has checked that.
        start: first byte wanted.

    Raises:
        BrokenConnectionError: another try may mend it.
        RefusedError: it will not.
    """
    request = urllib.request.Request(  # noqa: S310
        url, headers={"User-Agent": f"tinglu/{__version__}"}
    )
    if start:
        request.add_header("Range", f"bytes={start}-")
    # An opener of its own reads the proxies of the environment as they are now.
    opener = urllib.request.build_opener()
    try:
        response: http.client.HTTPResponse = opener.open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as exc:
        with exc:
            if exc.code in _RETRYABLE_STATUS:
                wait_s = _asked_wait_s(exc.headers.get("Retry-After", ""))
                raise BrokenConnectionError(f"HTTP {exc.code}", wait_s) from exc
            raise RefusedError(exc.code, f"HTTP {exc.code} {exc.reason}") from exc
    except urllib.error.URLError as exc:
        raise BrokenConnectionError(str(exc.reason)) from exc
    except (OSError, http.client.HTTPException) as exc:
        raise BrokenConnectionError(str(exc)) from exc
    return response


def read_document(url: str, *, most_bytes: int, pauses: Pauses) -> bytes:
    """A small document as a whole, asked for again while that may help.

    Raises:
        BrokenConnectionError: the network is unusable.
        RefusedError: the server does not give it, or it is longer than ``most_bytes``.
    """
    fruitless = 0
    while True:
        try:
            return _read_once(url, most_bytes)
        except BrokenConnectionError as exc:
            fruitless += 1
            if fruitless >= FRUITLESS_TRIES:
                raise
            pauses.take(fruitless, exc.wait_s)


def _read_once(url: str, most_bytes: int) -> bytes:
    with open_url(url) as response:
        try:
            body = response.read(most_bytes + 1)
        except (OSError, http.client.HTTPException) as exc:
            raise BrokenConnectionError(str(exc)) from exc
        if len(body) > most_bytes:
            raise RefusedError(response.status, f"the answer is longer than {most_bytes} bytes")
        if str(len(body)) != response.headers.get("Content-Length", str(len(body))):
            raise BrokenConnectionError("the connection ended early")
        return body


def _asked_wait_s(header: str) -> float:
    """``Retry-After``: seconds or a date; 0 if it is neither."""
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
