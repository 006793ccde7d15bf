"""The formats that the decoder is judged by: container, codec, sample rates and channels.

Shared by the tests of this folder and by the fuzzer in ``benchmarks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.unit.audio.encoders import Encoder, pyav, silk, sndfile, with_cover

RATES = (8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000)
CHANNELS = (1, 2, 6)
OPUS_RATES = (8_000, 16_000, 48_000)
MP2_RATES = (16_000, 22_050, 44_100, 48_000)
FLV_RATES = (11_025, 22_050, 44_100, 48_000)
SILK_RATES = (8_000, 12_000, 16_000, 24_000)

SNDFILE_OGG = ("ogg vorbis", "ogg opus by libsndfile")
"""Forms whose files differ from one encoding to the next."""

AAC_DELAY = 1_024
LAME_DELAY = 1_105


@dataclass(frozen=True, slots=True)
class Form:
    """One container with one codec.

    Attributes:
        name: for messages, unique.
        extension: the usual one, without a dot.
        encode: from float32 (channels, samples) and the sample rate.
        rates: what the encoder takes.
        channels: what the encoder takes.
        is_framed: the codec rounds lengths up to whole frames, and the container cannot tell.
        delay_samples: of encoder and decoder, which the container has no place to state.
        delay_frames: the same, counted in the codec's frames; below 0 where FFmpeg's decoder drops
            more than its encoder puts in front.
        left_out: why the other rates and channels are, where it is not the encoder that refuses.
    """

    name: str
    extension: str
    encode: Encoder
    rates: tuple[int, ...] = RATES
    channels: tuple[int, ...] = CHANNELS
    is_framed: bool = False
    delay_samples: int = 0
    delay_frames: int = 0
    left_out: str = ""

    def combinations(self) -> list[tuple[int, int]]:
        """``(sample rate, channels)`` of every file of this form."""
        return [(rate_hz, channels) for rate_hz in self.rates for channels in self.channels]


def _forms() -> Iterator[Form]:
    yield from _wave_forms()
    yield from _plain_forms()
    yield from _mpeg_forms()
    yield from _ogg_forms()
    yield from _film_forms()
    yield from _telephone_forms()


def _wave_forms() -> Iterator[Form]:
    for codec in ("u8", "s16le", "s24le", "s32le", "f32le", "f64le", "alaw", "mulaw"):
        yield Form(f"wav pcm_{codec}", "wav", pyav("wav", f"pcm_{codec}"))
    for codec in ("adpcm_ms", "adpcm_ima_wav"):
        yield Form(f"wav {codec}", "wav", pyav("wav", codec), channels=(1, 2), is_framed=True)
    yield Form("wav g726", "wav", pyav("wav", "g726"), (8_000,), (1,))
    yield Form("wav g722", "wav", pyav("wav", "g722"), channels=(1,), delay_samples=24)
    for codec in ("pcm_s16le", "pcm_f32le"):
        yield Form(f"w64 {codec}", "w64", pyav("w64", codec))
    long = {"rf64": "always"}
    for codec in ("pcm_s16le", "pcm_s24le"):
        yield Form(f"rf64 {codec}", "wav", pyav("wav", codec, muxer_options=long))


def _plain_forms() -> Iterator[Form]:
    for muxer, codecs in (
        ("aiff", ("pcm_s16be", "pcm_s24be", "pcm_f32be", "pcm_alaw")),
        ("caf", ("pcm_s16be", "pcm_s24le", "pcm_f32le", "alac")),
        ("au", ("pcm_s16be", "pcm_mulaw", "pcm_f32be")),
        ("flac", ("flac",)),
        ("wv", ("wavpack",)),
        ("tta", ("tta",)),
    ):
        for codec in codecs:
            yield Form(f"{muxer} {codec}", muxer, pyav(muxer, codec))


def _mpeg_forms() -> Iterator[Form]:
    untagged = {"id3v2_version": "0"}
    variable = {"flags": "+qscale", "global_quality": "472"}
    bare = {"write_xing": "0", **untagged}
    mp3 = {"extension": "mp3", "rates": RATES[:6], "channels": (1, 2), "is_framed": True}
    constant = pyav("mp3", "libmp3lame", bit_rate=64_000)
    yield Form("mp3 cbr", encode=constant, **mp3)
    yield Form("mp3 vbr", encode=pyav("mp3", "libmp3lame", codec_options=variable), **mp3)
    yield Form(
        "mp3 without header",
        encode=pyav("mp3", "libmp3lame", bit_rate=64_000, muxer_options=bare),
        delay_samples=LAME_DELAY,
        **mp3,
    )
    tagged = with_cover(pyav("mp3", "libmp3lame", bit_rate=64_000, muxer_options=untagged))
    yield Form("mp3 with cover", encode=tagged, **mp3)
    mp2 = pyav("mp2", "mp2", bit_rate=64_000)
    yield Form("mp2", "mp2", mp2, MP2_RATES, (1, 2), is_framed=True, delay_samples=481)
    adts = pyav("adts", "aac", bit_rate=64_000)
    yield Form("adts aac", "aac", adts, is_framed=True, delay_samples=AAC_DELAY)
    for muxer, extension in (("ipod", "m4a"), ("3gp", "3gp"), ("mov", "mov")):
        aac = pyav(muxer, "aac", bit_rate=64_000)
        yield Form(f"{muxer} aac", extension, aac, is_framed=True)
    yield Form("ipod alac", "m4a", pyav("ipod", "alac"))


def _ogg_forms() -> Iterator[Form]:
    opus = {"rates": OPUS_RATES, "is_framed": True}
    vorbis, sndfile_opus = SNDFILE_OGG
    yield Form(vorbis, "ogg", sndfile("OGG", "VORBIS"))
    experimental = pyav("ogg", "vorbis", bit_rate=64_000, codec_options={"strict": "-2"})
    yield Form("ogg vorbis by ffmpeg", "ogg", experimental, channels=(2,), is_framed=True)
    yield Form(
        sndfile_opus,
        "opus",
        sndfile("OGG", "OPUS"),
        OPUS_RATES,
        (1, 2),
        left_out="FFmpeg decodes the streams of six channels 0.6 ms apart",
    )
    yield Form("ogg opus", "opus", pyav("ogg", "libopus", bit_rate=64_000), OPUS_RATES)
    yield Form("ogg flac", "oga", pyav("ogg", "flac"))
    yield Form("webm opus", "webm", pyav("webm", "libopus", bit_rate=64_000), OPUS_RATES)
    yield Form("matroska opus", "mkv", pyav("matroska", "libopus", bit_rate=64_000), OPUS_RATES)
    # MP4 counts Opus in units of 48 kHz, FFmpeg's muxer in those of the input.
    in_mp4 = pyav("mp4", "libopus", bit_rate=64_000)
    yield Form("mp4 opus", "mp4", in_mp4, delay_samples=52, **opus)
    in_ts = pyav("mpegts", "libopus", bit_rate=64_000)
    yield Form("mpegts opus", "ts", in_ts, delay_samples=312, **opus)


def _film_forms() -> Iterator[Form]:
    for muxer, codecs in (
        ("matroska", ("flac", "pcm_s16le", "alac", "wavpack")),
        ("mov", ("alac", "pcm_s16le", "pcm_s24be")),
        ("avi", ("pcm_s16le",)),
    ):
        extension = "mkv" if muxer == "matroska" else muxer
        for codec in codecs:
            yield Form(f"{muxer} {codec}", extension, pyav(muxer, codec))
    film = pyav("mp4", "aac", bit_rate=64_000, with_film=True)
    yield Form("mp4 aac with film", "mp4", film, is_framed=True)
    fragments = pyav(
        "mp4",
        "aac",
        bit_rate=64_000,
        muxer_options={"movflags": "frag_keyframe+empty_moov"},
    )
    yield Form("mp4 in fragments", "mp4", fragments, is_framed=True, delay_samples=AAC_DELAY)
    mp4_mp3 = pyav("mp4", "libmp3lame", bit_rate=64_000)
    yield Form("mp4 mp3", "mp4", mp4_mp3, RATES[2:6], (1, 2), is_framed=True)
    qt = pyav("mov", "adpcm_ima_qt")
    yield Form("mov adpcm_ima_qt", "mov", qt, channels=(1, 2), is_framed=True)
    for muxer, extension in (("matroska", "mkv"), ("avi", "avi"), ("flv", "flv"), ("mpegts", "ts")):
        delay = muxer != "matroska"
        aac = pyav(muxer, "aac", bit_rate=64_000)
        delay_samples = AAC_DELAY * delay
        yield Form(f"{muxer} aac", extension, aac, is_framed=True, delay_samples=delay_samples)
        mp3 = pyav(muxer, "libmp3lame", bit_rate=64_000)
        rates = FLV_RATES if muxer == "flv" else RATES[:6]
        delay_samples = LAME_DELAY * delay
        yield Form(f"{muxer} mp3", extension, mp3, rates, (1, 2), True, delay_samples)
        if muxer != "flv":
            ac3 = pyav(muxer, "ac3", bit_rate=96_000)
            yield Form(f"{muxer} ac3", extension, ac3, RATES[4:6], CHANNELS, True, 256 * delay)
    mp2 = pyav("mpegts", "mp2", bit_rate=64_000)
    yield Form("mpegts mp2", "ts", mp2, MP2_RATES, (1, 2), True, 481)


def _telephone_forms() -> Iterator[Form]:
    for muxer in ("amr", "3gp"):
        amr = pyav(muxer, "libopencore_amrnb", bit_rate=12_200)
        yield Form(f"{muxer} amr", muxer, amr, (8_000,), (1,), True, 40)
    wma = pyav("asf", "wmav2", bit_rate=64_000)
    yield Form("wma", "wma", wma, RATES[:6], (1, 2), is_framed=True, delay_frames=-1)
    for tencent in (False, True):
        name = f"silk {'of tencent' if tencent else 'plain'}"
        recorder = silk(tencent=tencent)
        reason = "messengers record at 24 kHz at most"
        yield Form(name, "silk", recorder, SILK_RATES, (1,), True, 124, left_out=reason)


FORMS = {form.name: form for form in _forms()}

NO_ENCODER = {
    "AMR-WB": "FFmpeg decodes it only",
    "Speex": "FFmpeg's wheel has no libspeex to encode",
    "WMA Pro, WMA Lossless, WMA Voice": "FFmpeg decodes them only",
    "AAC in CAF": "FFmpeg's muxer refuses codecs whose packets vary in length",
    "Monkey's Audio": "FFmpeg decodes it only",
}
"""What people have and this machine cannot make, with the reason."""
