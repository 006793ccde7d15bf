"""Whatever a recording is called: it is found, its name is kept, and its files can be written."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from asr_core.engine import EXPORT_FORMATS, Engine, TranscribeOptions
from asr_core.export import file_name
from asr_core.settings import Settings
from tests.seeding import finish, open_history
from tests.unit.audio.encoders import pyav, words
from tests.unit.audio.judging import decode, voice_match
from ui.guard import Page
from ui.handlers import common

ROOT = Path(__file__).resolve().parents[3]
FAMILY = "👨‍👩‍👧"


def of_bytes(text: str, ending: str, count: int = 255) -> str:
    """A name of exactly ``count`` bytes."""
    room = count - len(ending.encode())
    filled = (text * room).encode()[:room].decode(errors="ignore")
    return filled + "x" * (room - len(filled.encode())) + ending


NAMES = [
    "会议录音.wav",
    "2025年12月15日 周会 (终稿) v2.wav",
    "  两头  空格.wav",
    "派对🎉🎙️.wav",
    f"家庭{FAMILY}.wav",
    'it\'s "quoted".wav',
    "【重要】《纪要》（一）、“二”.wav",
    "A&B; rm -rf $HOME `id` | x > y.wav",
    "-rf.wav",
    "--output.wav",
    "100%d %s {name}.wav",
    "#?&=+.wav",
    "~.wav",
    "تسجيل الاجتماع.wav",
    "הקלטה 1.wav",
    unicodedata.normalize("NFD", "réunion à été.wav"),
    unicodedata.normalize("NFD", "한국어 회의.wav"),
    "ＡＢＣ　全角.wav",
    of_bytes("会", ".wav"),
    of_bytes("🎙", ".wav"),
    of_bytes(unicodedata.normalize("NFD", "é"), ".wav"),
    "无扩展名",
    ".hidden.wav",
    "两.个.点.wav",
    "NUL.wav",
    "http:--example.com.wav",
]
names = pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))


def stem_of(name: str) -> str:
    return name.removesuffix(".wav")


def silent(path: Path) -> Path:
    with path.open("wb") as file:
        soundfile.write(file, np.zeros(1_600, np.int16), 16_000, format="WAV")
    return path


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


@names
@pytest.mark.parametrize(("muxer", "codec"), [("wav", "pcm_s16le"), ("mp3", "libmp3lame")])
def test_it_is_opened_from_its_own_folder(tmp_path, monkeypatch, name, muxer, codec):
    """By libsndfile and by FFmpeg, as a path that begins with the name itself."""
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(pyav(muxer, codec)(words(1), 16_000).content)

    decoded = decode(Path(name))

    assert voice_match(decoded.waveform, words(1)[0])[1] > 0.9
    assert decoded.info.container == muxer


@names
def test_its_name_is_kept_and_its_copy_has_a_safe_one(tmp_path, settings, name):
    source = silent(tmp_path / name)
    with Engine(settings) as engine:
        job = engine.submit(source, TranscribeOptions())
        entry = engine.record(job.recording_id).entry
        path = engine.record(job.recording_id).path
        (listed,) = engine.history().entries
        found = engine.history(name.strip()[:6]).entries

    assert entry.name == listed.name == name.strip()
    assert [one.id for one in found] == [entry.id]
    assert path.read_bytes() == source.read_bytes()
    assert path.parent == settings.recordings
    assert path.name.isascii()
    assert path.stem == job.recording_id


@names
def test_every_export_is_written_under_its_name(tmp_path, settings, name):
    source = silent(tmp_path / name)
    with Engine(settings) as engine, open_history(settings) as history:
        page = Page(engine, settings)
        job = engine.submit(source, TranscribeOptions())
        finish(history, job.id)
        for format_name in EXPORT_FORMATS:
            sent = common.export_as(
                page, "zh-CN", {"recording": job.recording_id, "format": format_name}
            )
            assert sent["name"] == Path(sent["path"]).name
            assert Path(sent["path"]).stat().st_size > 0
            assert Path(sent["path"]).is_relative_to(settings.tmp)
            assert_named_after(sent["name"], name, format_name)


def assert_named_after(made: str, original: str, format_name: str) -> None:
    stem = made.removesuffix(f".{format_name}")
    assert stem != made
    assert len(made.encode()) <= 255
    cleaned = "".join(char for char in stem_of(original) if char not in '<>:"|?*').strip(" .")
    if cleaned.upper() == "NUL":
        assert stem == "_NUL"
    elif len(f"{cleaned}.{format_name}".encode()) <= 255:
        assert stem == cleaned
    else:
        assert cleaned.startswith(stem)
        assert len(made.encode()) > 255 - 8


@pytest.mark.parametrize(
    ("character", "width"),
    [("会", 3), ("🎙️", 7), ("👍🏽", 8), (FAMILY, 18), ("e\u0301", 3), ("한", 9)],
    ids=["han", "selector", "skin tone", "family", "accent", "hangul"],
)
def test_a_long_name_is_cut_between_characters(character, width):
    character = unicodedata.normalize("NFD", character)
    for pad in range(width + 2):
        made = file_name("a" * pad + character * 300 + ".wav", "txt")
        body = made.removesuffix(".txt")[pad:]
        assert len(made.encode()) <= 255
        assert body == character * (len(body) // len(character))
        assert len(made.encode()) > 255 - len(character.encode())


def test_recordings_of_one_long_name_get_numbers_that_fit():
    name = of_bytes("会", ".wav")
    made = [file_name(name, "txt", number) for number in (1, 2, 10, 1_000)]
    assert len(set(made)) == 4
    assert all(len(one.encode()) <= 255 for one in made)
    assert made[1].endswith(" (2).txt")
    assert file_name("会议.wav", "srt", 2) == "会议 (2).srt"
    assert file_name("", "srt", 2) == "transcript (2).srt"


@given(st.text(min_size=1, max_size=400), st.integers(1, 10_000))
def test_any_name_and_number_can_be_written(name, number):
    made = file_name(name, "docx", number)
    assert 0 < len(made.encode()) <= 255
    assert made.endswith(".docx")
    assert not {"/", "\\", "\0", "\n"} & set(made)
    assert made.strip(" .") not in ("", "docx")


@pytest.mark.model
def test_the_command_line_writes_one_file_for_each(tmp_path, model_folder):
    """Names are given as they are typed inside the folder; two folders hold the longest one."""
    folder = tmp_path / "录音"
    twin = folder / "另一个"
    twin.mkdir(parents=True)
    for name in NAMES:
        silent(folder / name)
    longest = of_bytes("会", ".wav")
    silent(twin / longest)
    inputs = [*NAMES, f"{twin.name}/{longest}"]
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("ASR_")},
        "ASR_HOME": str(tmp_path / "home"),
        "ASR_MODEL_DIR": str(model_folder),
        "PYTHONPATH": str(ROOT),
    }

    result = subprocess.run(
        [
            *(sys.executable, "-m", "asr_core", "transcribe"),
            *("--output", "出", "--format", "csv", "--", *inputs),
        ],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    written = {path.name for path in (folder / "出").iterdir()}
    expected = {file_name(name, "csv") for name in NAMES} | {file_name(longest, "csv", 2)}
    assert written == expected
    assert len(written) == len(inputs)
    for path in (folder / "出").iterdir():
        with path.open(encoding="utf-8-sig", newline="") as file:
            assert len(list(csv.reader(file))) == 1
