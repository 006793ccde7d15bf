"""Which files to fetch for a model, and from which hub."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone

from asr_core.errors import ModelError, SettingsError
from asr_core.models.catalog import ListedFiles, ModelEntry, ModelFile
from asr_core.models.download import unreachable
from asr_core.models.listing import (
    REVISION,
    ListingError,
    Offer,
    file_url,
    find_offer,
    listing_url,
)
from asr_core.models.manifest import Manifest
from asr_core.models.transport import BrokenConnectionError, Pauses


@dataclass(frozen=True, slots=True)
class Hubs:
    """Addresses of the model hubs, or of mirrors of them.

    Attributes:
        pinned: serves models whose contents the catalogue knows.
        modelscope: serves FunASR's models and states their contents itself.
        pauses: before a request is tried again.
    """

    pinned: str = "https://huggingface.co"
    modelscope: str = "https://www.modelscope.cn"
    pauses: Pauses = field(default_factory=Pauses)


@dataclass(frozen=True, slots=True)
class Shipment:
    """What to fetch.

    Attributes:
        files: each with its address.
        setting: variable that names the hub, for messages.
        manifest: to be written beside the files.
        converts: whether it holds a checkpoint of which graphs are to be made.
    """

    files: tuple[tuple[ModelFile, str], ...]
    setting: str
    manifest: Manifest | None = None
    converts: bool = False

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file, _ in self.files)


def pack(entry: ModelEntry, hubs: Hubs) -> Shipment:
    """What to fetch for a model, and from where; asks the hub where contents are not pinned.

    Raises:
        ModelError: ``reason`` is ``network``, or ``listing``: the hub does not offer the files.
        SettingsError: the hub's address is not usable.
    """
    if entry.listed is not None:
        return _pack_listed(entry, entry.listed, hubs)
    hub = _checked_address(hubs.pinned, "ASR_HUB_URL")
    files = entry.layouts[0].files
    return Shipment(tuple((file, f"{hub}/{entry.hub_path(file)}") for file in files), "ASR_HUB_URL")


def _pack_listed(entry: ModelEntry, listed: ListedFiles, hubs: Hubs) -> Shipment:
    setting = "ASR_MODELSCOPE_URL"
    hub = _checked_address(hubs.modelscope, setting)
    try:
        offer, converts = _offer(hub, listed, hubs.pauses)
    except BrokenConnectionError as exc:
        repo = listed.repos[0]
        raise unreachable(entry.name, repo, listing_url(hub, repo), setting, str(exc)) from exc
    except ListingError as exc:
        raise ModelError(
            f"{hub} does not offer the files of model {entry.name} ({exc}); set {setting} to "
            "another mirror, or copy the model's folder from another machine",
            name=entry.name,
            reason="listing",
            setting=setting,
            cause=str(exc),
        ) from exc
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    manifest = Manifest(entry.name, hub, offer.repo, REVISION, now, offer.files)
    addresses = tuple((file, file_url(hub, offer.repo, file.name)) for file in offer.files)
    return Shipment(addresses, setting, manifest, converts)


def _offer(hub: str, listed: ListedFiles, pauses: Pauses) -> tuple[Offer, bool]:
    """What the hub offers, graphs before checkpoints, and whether it is a checkpoint.

    Raises:
        ListingError: neither; names every repository asked.
        BrokenConnectionError: the hub cannot be reached.
    """
    try:
        return find_offer(hub, listed, pauses), False
    except ListingError as exc:
        if listed.checkpoint is None:
            raise
        try:
            return find_offer(hub, listed.checkpoint, pauses), True
        except ListingError as other:
            raise ListingError(f"{exc}; {other}") from other


def _checked_address(url: str, setting: str) -> str:
    """The address without a slash at its end."""
    if not re.match(r"https?://[^/]", url):
        raise SettingsError(
            f"{setting}={url!r} is not usable; allowed: an http(s) address",
            name=setting,
            value=url,
            allowed="http://… | https://…",
        )
    return url.rstrip("/")
