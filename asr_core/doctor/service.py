"""Disk, port, clock, and whether browsers will give the page a microphone."""

from __future__ import annotations

import errno
import http.client
import ipaddress
import socket
from datetime import datetime, timezone

from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, fail, ok, warn
from asr_core.errors import AsrError
from asr_core.messages import describe
from asr_core.store.tmp_files import folder_bytes

_LEAST_MB, _LITTLE_MB = 1024, 5120
_FIRST_YEAR, _LAST_YEAR = 2025, 2100
_ANSWER_S = 3.0
_PAGE_BYTES = 1 << 20
_BRAND = "听录".encode()


def check_history(context: Context) -> Finding:
    """The database opens, and is of a version that this program knows."""
    try:
        count = context.engine().history(limit=1).total
    except AsrError as exc:
        copy = f"ls -l {context.settings.database}*"
        return fail(
            "history",
            "closed",
            copy,
            path=context.settings.database,
            cause=describe(exc, context.settings.locale),
        )
    return ok("history", "open", count=count, path=context.settings.database)


def check_disk(context: Context) -> Finding:
    home = context.settings.home
    free_mb = context.host.free_bytes(home) >> 20
    values = {"free_mb": free_mb, "path": home}
    if free_mb < _LITTLE_MB:
        judge = fail if free_mb < _LEAST_MB else warn
        return judge("disk", "little", f"du -sh {home}/*", "export ASR_HOME=<folder>", **values)
    return ok("disk", "enough", **values)


def check_temporary(context: Context) -> Finding:
    """The quota of temporary files against the space that there is for it."""
    settings = context.settings
    free_mb = context.host.free_bytes(settings.tmp) >> 20
    used_mb = folder_bytes(settings.tmp) >> 20
    values = {"quota_mb": settings.tmp_max_mb, "used_mb": used_mb, "free_mb": free_mb}
    if free_mb + used_mb < settings.tmp_max_mb:
        smaller = max((free_mb + used_mb) // 2, 1)
        return warn("temporary", "large", f"export ASR_TMP_MAX_MB={smaller}", **values)
    return ok("temporary", "fits", **values)


def check_port(context: Context) -> Finding:
    """Free, or taken by a page of ours."""
    settings = context.settings
    values = {"host": settings.host, "port": settings.port}
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((settings.host, settings.port))
    except OSError as exc:
        if exc.errno != errno.EADDRINUSE:
            return fail(
                "port", "refused", "export ASR_HOST=127.0.0.1", cause=exc.strerror, **values
            )
        if _is_ours(settings.host, settings.port):
            return ok("port", "ours", **values)
        mend = f"ss -ltnp 'sport = :{settings.port}'"
        other = f"export ASR_PORT={settings.port + 1 if settings.port < 65535 else 7860}"
        return fail("port", "taken", mend, other, **values)
    return ok("port", "free", **values)


def check_microphone(context: Context) -> Finding:
    """Browsers give the microphone to https and to the machine itself alone."""
    host = context.settings.host
    if _is_loopback(host):
        return ok("microphone", "local", host=host)
    tunnel = f"ssh -L {context.settings.port}:127.0.0.1:{context.settings.port} <server>"
    return warn("microphone", "insecure", tunnel, host=host)


def check_clock(context: Context) -> Finding:
    """Times of the history, and of certificates."""
    shown = datetime.fromtimestamp(context.host.now_s(), timezone.utc)
    values = {"time": f"{shown:%Y-%m-%d %H:%M} UTC"}
    if not _FIRST_YEAR <= shown.year < _LAST_YEAR:
        return fail("clock", "wrong", "sudo date -s '<year-month-day hour:minute>'", **values)
    synchronized = _synchronized(context)
    if synchronized is None:
        return ok("clock", "plausible", **values)
    if not synchronized:
        return warn("clock", "free", "sudo timedatectl set-ntp true", **values)
    return ok("clock", "synchronized", **values)


def _synchronized(context: Context) -> bool | None:
    """What the time service says; ``None`` where there is none."""
    asked = context.host.run(["timedatectl", "show", "-p", "NTPSynchronized", "--value"], _ANSWER_S)
    if asked.done and asked.text.strip() in ("yes", "no"):
        if asked.text.strip() == "yes":
            return True
        known = False
    else:
        known = None
    chrony = context.host.run(["chronyc", "tracking"], _ANSWER_S)
    if chrony.done and "Leap status" in chrony.text:
        return "Normal" in chrony.text.partition("Leap status")[2].splitlines()[0]
    return known


def _is_ours(host: str, port: int) -> bool:
    """Whether the page that answers there is this program's."""
    near = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = http.client.HTTPConnection(near, port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/")
        return _BRAND in connection.getresponse().read(_PAGE_BYTES)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


CHECKS = (
    check_history,
    check_disk,
    check_temporary,
    check_port,
    check_microphone,
    check_clock,
)
