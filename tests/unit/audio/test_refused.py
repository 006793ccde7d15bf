"""Files that are no recordings, that are locked, or that want more than their share."""

from __future__ import annotations

import ctypes
import io
import os
import struct
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from asr_core.errors import AudioDecodeError
from tests.unit.audio.encoders import index_first, png, pyav, sample_recording, silk, words
from tests.unit.audio.judging import RATE_HZ, decode, voice_match
from tests.unit.audio.recordings import encode_video


def reason_of(path: Path, **options: object) -> str:
    with pytest.raises(AudioDecodeError) as caught:
        decode(path, **options)
    assert caught.value.details["path"] == path.name
    return str(caught.value.details["reason"])


def zip_file(member: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(member, "会议纪要 " * 500)
    return target.getvalue()


def word_file() -> bytes:
    import docx

    document = docx.Document()
    document.add_paragraph("会议纪要")
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n" + bytes(range(256)) * 40 + b"%%EOF\n"
)

NO_RECORDINGS = {
    "text": "会议纪要：今天讨论三件事。\n".encode() * 200,
    "text in GBK": "会议纪要：今天讨论三件事。\n".encode("gbk") * 200,
    "one byte": b"x",
    "zeros": bytes(5_000),
    "picture": png(64, 64),
    "zip": zip_file("录音.txt"),
    "zip of a recording": zip_file("录音.wav"),
    "word": word_file(),
    "pdf": PDF,
    "program": b"\x7fELF\2\1\1" + bytes(9) + bytes(range(256)) * 20,
    "database": b"SQLite format 3\0" + bytes(4_080),
    "web page": b"<!DOCTYPE html><html><body>404 Not Found</body></html>" * 20,
    "subtitles": "1\n00:00:01,000 --> 00:00:02,000\n你好\n\n".encode() * 20,
}


@pytest.mark.parametrize("extension", ["wav", "mp3", "silk"])
@pytest.mark.parametrize("kind", NO_RECORDINGS)
def test_what_is_no_recording_is_refused_whatever_its_name(tmp_path, kind, extension):
    path = tmp_path / f"upload.{extension}"
    path.write_bytes(NO_RECORDINGS[kind])
    assert reason_of(path) == "not_audio"


@pytest.mark.parametrize("extension", ["wav", "mp4", "silk"])
def test_an_empty_file(tmp_path, extension):
    path = tmp_path / f"empty.{extension}"
    path.touch()
    assert reason_of(path) == "empty"


def test_a_film_without_sound(tmp_path):
    assert reason_of(encode_video(tmp_path / "film.mp4")) == "no_audio_track"


# --- nothing but the file itself is opened -----------------------------------------------------


@contextmanager
def counting_server() -> Iterator[tuple[str, list[str]]]:
    """A local web server, and the list of what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815 - the name that the server looks for

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def watched(path: Path) -> Iterator[list[int]]:
    """Counts how often anyone opens a file; filled in at the end."""
    opened: list[int] = []
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK)
    if descriptor < 0:
        pytest.skip("this system has no inotify")
    try:
        assert libc.inotify_add_watch(descriptor, os.fsencode(path), 0x20) >= 0  # IN_OPEN
        yield opened
        try:
            opened.append(len(os.read(descriptor, 4_096)) // 16)
        except BlockingIOError:
            opened.append(0)
    finally:
        os.close(descriptor)


SCRIPTS = {
    "concat": "ffconcat version 1.0\nfile {canary}\n",
    "concat of a url": "ffconcat version 1.0\nfile {url}/a.wav\n",
    "bare concat": "file '{canary}'\n",
    "playlist": "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{canary}\n#EXT-X-ENDLIST\n",
    "playlist of urls": (
        "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:5\n#EXT-X-MEDIA-SEQUENCE:0\n"
        '#EXT-X-KEY:METHOD=AES-128,URI="{url}/key"\n#EXTINF:5,\n{url}/a.ts\n#EXT-X-ENDLIST\n'
    ),
    "master playlist": (
        "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=64000\n{url}/low.m3u8\n"
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="b",URI="file://{canary}"\n'
    ),
    "file url": "#EXTM3U\n#EXTINF:1,\nfile://{canary}\n",
    "subfile": "#EXTM3U\n#EXTINF:1,\nsubfile,,start,0,end,9999,,:{canary}\n",
    "concat protocol": "#EXTM3U\n#EXTINF:1,\nconcat:{canary}|{canary}\n",
    "pls": "[playlist]\nFile1={url}/a.mp3\nNumberOfEntries=1\n",
    "sdp": (
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
        "m=audio 5004 RTP/AVP 0\na=rtpmap:0 PCMU/8000\n"
    ),
    "rtsp text": "RTSPtext\n{url}/a.mov\n",
    "smil": '<smil><body><audio src="{url}/a.mp3"/></body></smil>\n',
    "asx": '<asx version="3.0"><entry><ref href="{url}/a.wma"/></entry></asx>\n',
    "dash": (
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
        'mediaPresentationDuration="PT5S" profiles="urn:mpeg:dash:profile:isoff-live:2011">'
        '<Period><AdaptationSet mimeType="audio/mp4"><Representation id="a" bandwidth="64000">'
        "<BaseURL>{url}/a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>\n"
    ),
    "imf": (
        '<?xml version="1.0"?><CompositionPlaylist '
        'xmlns="http://www.smpte-ra.org/schemas/2067-3/2016"><Id>urn:uuid:1</Id>'
        "</CompositionPlaylist>\n"
    ),
}


@pytest.mark.parametrize("extension", ["wav", "m3u8", "mpd"])
@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_script_opens_neither_files_nor_the_network(tmp_path, kind, extension):
    canary = tmp_path / "secret.wav"
    soundfile.write(canary, words(1)[0], RATE_HZ)
    path = tmp_path / f"upload.{extension}"
    with counting_server() as (url, asked), watched(canary) as opened:
        path.write_text(SCRIPTS[kind].format(canary=canary, url=url))
        assert reason_of(path) == "not_audio"
    assert asked == []
    assert opened == [0]


def box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", 8 + len(body)) + kind + body


def patch_mp4(content: bytes, old: bytes, new: bytes, ancestors: tuple[bytes, ...]) -> bytes:
    """Replace a part of an MP4 whose index is last, and mend the sizes of the boxes around it."""
    place = content.rindex(old)
    patched = bytearray(content[:place] + new + content[place + len(old) :])
    for ancestor in ancestors:
        start = patched.rindex(ancestor, 0, place + 8) - 4
        size = struct.unpack_from(">I", patched, start)[0]
        struct.pack_into(">I", patched, start, size + len(new) - len(old))
    return bytes(patched)


def test_a_film_that_refers_to_another_file_does_not_open_it(tmp_path):
    canary = tmp_path / "secret.wav"
    soundfile.write(canary, words(1)[0], RATE_HZ)
    content = pyav("mov", "pcm_s16le")(words(1), RATE_HZ).content
    own = struct.pack(">I4sI", 12, b"url ", 1)
    with counting_server() as (url, asked), watched(canary) as opened:
        for reference in (
            box(b"url ", bytes(4) + f"{url}/secret.wav".encode() + b"\0"),
            box(b"url ", bytes(4) + f"file://{canary}".encode() + b"\0"),
            box(b"alis", bytes(4) + alias(canary)),
        ):
            path = tmp_path / "upload.mov"
            parents = (b"dref", b"dinf", b"minf", b"mdia", b"trak", b"moov")
            path.write_bytes(patch_mp4(content, own, reference, parents))
            try:
                decode(path)
            except AudioDecodeError:
                continue
    assert asked == []
    assert opened == [0]


def alias(target: Path) -> bytes:
    """A Macintosh alias record that leads to a file by its path."""
    name = os.fsencode(target.name)[:27]
    record = bytearray(150)
    record[10] = 6
    record[50] = len(name)
    record[51 : 51 + len(name)] = name
    full = os.fsencode(target)
    record += struct.pack(">HH", 18, len(full)) + full + b"\0" * (len(full) % 2)
    return bytes(record) + struct.pack(">HH", 0xFFFF, 0)


def test_a_matroska_file_that_names_a_neighbour_does_not_open_it(tmp_path):
    canary = tmp_path / "secret.mkv"
    canary.write_bytes(pyav("matroska", "flac")(words(1), RATE_HZ).content)
    content = pyav("matroska", "flac")(words(1), RATE_HZ).content
    # SeekHead entries are followed by a Void element: room for NextFilename (0x3E83BB).
    void = content.index(b"\xec", 40)
    name = os.fsencode(canary.name)
    element = b"\x3e\x83\xbb" + bytes([0x80 | len(name)]) + name
    path = tmp_path / "upload.mkv"
    path.write_bytes(content[:void] + element + content[void + len(element) :])

    with watched(canary) as opened:
        assert voice_match(decode(path).waveform, words(1)[0])[1] > 0.9
    assert opened == [0]


# --- more than its share -----------------------------------------------------------------------


def silence_after_speech(muxer: str, codec: str, minutes: int, rate_hz: int = 8_000) -> bytes:
    """A few kilobytes that decode to hours; the first seconds are speech."""
    target = io.BytesIO()
    with av.open(target, "w", format=muxer) as output:
        stream = output.add_stream(codec, rate=rate_hz, layout="mono")
        spoken = sample_recording()[: 4 * RATE_HZ : RATE_HZ // rate_hz]
        for minute in range(minutes):
            part = np.zeros((1, 60 * rate_hz), np.float32)
            if not minute:
                part[0, : len(spoken)] = spoken
            frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
            frame.sample_rate = rate_hz
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return target.getvalue()


@pytest.mark.parametrize(
    ("muxer", "codec", "minutes", "most_bytes"),
    [
        ("flac", "flac", 120, 1_500_000),
        ("wv", "wavpack", 120, 400_000),
        ("ogg", "libopus", 6, 200_000),
    ],
)
def test_a_decompression_bomb_stops_and_keeps_what_it_had(
    tmp_path, muxer, codec, minutes, most_bytes
):
    path = tmp_path / f"bomb.{'m4a' if muxer == 'ipod' else muxer}"
    content = silence_after_speech(muxer, codec, minutes)
    assert len(content) < most_bytes
    path.write_bytes(content)

    decoded = decode(path, max_duration_s=60.0)

    assert decoded.seconds == pytest.approx(60, abs=0.001)
    assert [code for code in decoded.warnings if code != "narrowband"] == ["too_long"]
    assert [start_ms for start_ms, _ in decoded.gaps] in ([], [60_000])
    assert voice_match(decoded.waveform[: 4 * RATE_HZ], sample_recording()[: 4 * RATE_HZ])[1] > 0.9


def test_a_long_wav_and_a_long_voice_message_stop_too(tmp_path):
    recording = sample_recording()
    (tmp_path / "long.wav").write_bytes(pyav("wav", "pcm_s16le")(recording[None], RATE_HZ).content)
    (tmp_path / "long.silk").write_bytes(silk(tencent=True)(recording[None], RATE_HZ).content)
    for name in ("long.wav", "long.silk"):
        decoded = decode(tmp_path / name, max_duration_s=10.0)
        assert decoded.seconds == pytest.approx(10, abs=0.001)
        assert decoded.warnings == ["too_long"]
        assert [start_ms for start_ms, _ in decoded.gaps] in ([], [10_000])


def test_a_recording_of_just_the_allowed_length_is_not_too_long(tmp_path):
    path = tmp_path / "fits.wav"
    waveform = sample_recording()[None, : 5 * RATE_HZ]
    path.write_bytes(pyav("wav", "pcm_s16le")(waveform, RATE_HZ).content)
    decoded = decode(path, max_duration_s=5.0)
    assert decoded.seconds == 5
    assert decoded.warnings == []


# --- locked ------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [b"enca", b"drms"])
@pytest.mark.parametrize("is_index_first", [True, False])
def test_an_encrypted_mp4_is_protected(tmp_path, entry, is_index_first):
    encode = pyav("ipod", "aac")
    content = (index_first(encode) if is_index_first else encode)(words(1), RATE_HZ).content
    path = tmp_path / "bought.m4a"
    path.write_bytes(content.replace(b"mp4a\0\0\0\0\0\0", entry + b"\0\0\0\0\0\0", 1))
    assert entry in path.read_bytes()
    assert reason_of(path) == "protected"


def test_an_encrypted_wma_is_protected(tmp_path):
    content = pyav("asf", "wmav2", bit_rate=64_000)(words(1), RATE_HZ).content
    kind = bytes.fromhex("fbb3112223bdd211b4b700a0c955fc6e")
    body = b"".join(
        struct.pack("<I", len(part)) + part for part in (b"secret", b"DRM\0", b"key", b"http://x\0")
    )
    extra = kind + struct.pack("<Q", 24 + len(body)) + body
    size, count = struct.unpack_from("<QI", content, 16)
    path = tmp_path / "bought.wma"
    path.write_bytes(
        content[:16]
        + struct.pack("<QI", size + len(extra), count + 1)
        + content[28:30]
        + extra
        + content[30:]
    )
    assert reason_of(path) == "protected"


def test_an_encrypted_song_of_netease_is_protected(tmp_path):
    path = tmp_path / "歌.ncm"
    path.write_bytes(b"CTENFDAM\1\x70\x80\0\0\0" + bytes(range(256)) * 20)
    assert reason_of(path) == "protected"
