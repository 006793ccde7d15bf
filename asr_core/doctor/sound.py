"""What FFmpeg can read here, and the microphones of the machine itself."""

from __future__ import annotations

import re
from collections.abc import Collection

from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, fail, listed, none, ok, warn
from asr_core.doctor.host import Host

DECODERS = (
    "aac", "ac3", "alac", "amrnb", "amrwb", "ape", "flac", "mp3", "opus", "pcm_alaw", "pcm_mulaw",
    "pcm_s16le", "pcm_s24le", "speex", "tta", "vorbis", "wavpack", "wmav2",
)  # fmt: skip
"""Codecs of recordings that the documents promise."""

_ENCODER = "aac"  # of copies for browsers
_OTHER_NAMES = {"amrnb": "amr_nb", "amrwb": "amr_wb", "mp3": "mp3float", "speex": "libspeex"}
_WANTED_HZ = 16_000
_FORMAT = "S16_LE"


def check_codecs(context: Context) -> Finding:
    """FFmpeg comes with PyAV; no command ``ffmpeg`` is needed."""
    version = context.host.package("av")
    if not version:
        return fail("codecs", "no_av", "./run.sh help")
    import av
    from av.codec import Codec
    from av.codec.codec import UnknownCodecError

    def has(name: str, mode: str) -> bool:
        try:
            Codec(name, mode)  # type: ignore[arg-type]
        except UnknownCodecError:
            return False
        return True

    lacking = [
        name
        for name in DECODERS
        if not has(name, "r") and not has(_OTHER_NAMES.get(name, name), "r")
    ]
    if not has(_ENCODER, "w"):
        lacking.append(f"{_ENCODER} (encoder)")
    ffmpeg = ".".join(map(str, av.library_versions.get("libavcodec", ())))
    if lacking:
        return warn("codecs", "lacking", names=listed(lacking), version=version)
    return ok("codecs", "all", count=len(DECODERS), version=version, ffmpeg=ffmpeg)


def check_devices(context: Context) -> Finding:
    """Capture devices of ALSA; a browser's microphone is another matter."""
    host = context.host
    if not host.exists("/proc/asound"):
        return none("alsa", "no_alsa")
    devices = _captures(host)
    if not devices:
        return none("alsa", "none")
    return ok("alsa", "there", names=listed([f"hw:{card},{number}" for card, number in devices]))


def check_rate(context: Context) -> Finding:
    """A device that can do one rate only has to be converted; so has one without s16le."""
    host = context.host
    devices = _captures(host)
    if not devices:
        return none("alsa_rate", "none")
    locked, odd, told = [], [], []
    for card, number in devices:
        rates, formats = _abilities(host, card, number)
        name = f"hw:{card},{number}"
        if rates and _WANTED_HZ not in rates and len(rates) == 1:
            locked.append(f"{name} {min(rates)} Hz")
        if formats and _FORMAT not in formats:
            odd.append(f"{name} {listed(sorted(formats))}")
        if rates or formats:
            told.append(f"{name} {listed(sorted(rates))} Hz")
    record = "arecord -D plughw:<card>,<device> -f S16_LE -r 16000 -c 1 -d 5 test.wav"
    if odd:
        return warn("alsa_rate", "format", record, names=listed(odd))
    if locked:
        return warn("alsa_rate", "locked", record, names=listed(locked))
    return ok("alsa_rate", "fits", names=listed(told)) if told else none("alsa_rate", "untold")


def _captures(host: Host) -> list[tuple[int, int]]:
    """Card and device numbers."""
    found = []
    for card in host.names("/proc/asound", "card[0-9]*"):
        for device in host.names(f"/proc/asound/{card}", "pcm*c"):
            number = device[3:-1]
            if number.isdecimal() and card[4:].isdecimal():
                found.append((int(card[4:]), int(number)))
    return sorted(found)


def _abilities(host: Host, card: int, number: int) -> tuple[Collection[int], Collection[str]]:
    """Rates in Hz and formats: of the stream that runs now, else as a USB device states them."""
    base = f"/proc/asound/card{card}"
    running = host.fields(f"{base}/pcm{number}c/sub0/hw_params")
    if "rate" in running:
        rate = running["rate"].split(" ")[0]
        return {int(rate)} if rate.isdecimal() else set(), {running.get("format", "")} - {""}
    _, _, capture = host.text(f"{base}/stream{number}").partition("Capture:")
    rates = {
        int(rate)
        for line in re.findall(r"Rates: (.*)", capture)
        for rate in re.findall(r"\d+", line)
    }
    if re.search(r"Rates: \d+ - \d+ \(continuous\)", capture):
        rates = (
            {min(rates), _WANTED_HZ, max(rates)}
            if min(rates) <= _WANTED_HZ <= max(rates)
            else rates
        )
    return rates, set(re.findall(r"Format: (\S+)", capture))


CHECKS = (check_codecs, check_devices, check_rate)
