"""Where the page can be reached: is the port free, and which addresses to tell people."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterable

import psutil

from asr_core.errors import SettingsError
from asr_core.settings import Settings

_ANY = ("0.0.0.0", "::", "")  # noqa: S104 - recognized, not bound


class PortInUseError(SettingsError):
    """Another program listens on the port. Details: ``port``."""

    code = "port_in_use"


class AddressError(SettingsError):
    """The page cannot listen on that address. Details: ``host``, ``port``, ``cause``."""

    code = "address"


def check_address(host: str, port: int) -> None:
    """Find out before anything is loaded whether the page could listen there.

    Raises:
        PortInUseError: somebody listens already.
        AddressError: no such address, or no right to use the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                raise PortInUseError(f"port {port} is in use", port=port) from exc
            raise AddressError(
                f"cannot listen on {host}:{port}: {exc}", host=host, port=port, cause=exc.strerror
            ) from exc


def page_urls(settings: Settings) -> list[str]:
    """Addresses that work in a browser, this machine's own first."""
    if settings.host not in _ANY:
        return [_url(settings.host, settings.port)]
    return [_url(host, settings.port) for host in ["127.0.0.1", *_lan_addresses()]]


def _lan_addresses() -> list[str]:
    found = [
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET
    ]
    return sorted(set(_usable(found)))


def _usable(addresses: Iterable[str]) -> Iterable[str]:
    for text in addresses:
        address = ipaddress.ip_address(text)
        if not (address.is_loopback or address.is_link_local or address.is_unspecified):
            yield text


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
