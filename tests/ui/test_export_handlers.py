"""Files that the page hands over: transcripts with options, parts of recordings."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
import soundfile

from asr_core.engine import (
    CLIP_FORMATS,
    EXPORT_CHOICES,
    EXPORT_FORMATS,
    Engine,
    ExportOptions,
)
from asr_core.errors import ExportError, RecordNotFoundError, SettingsError
from asr_core.messages import describe
from asr_core.settings import Settings
from tests.seeding import finish, queue, write_tone
from ui.guard import Page
from ui.handlers import common


@pytest.fixture
def recording_id(history, tmp_path) -> str:
    job = queue(history, write_tone(tmp_path / "例会.wav"))
    finish(history, job.id)
    return job.recording_id


def text_of(view) -> str:
    return Path(view["path"]).read_text(encoding="utf-8")


def test_every_format_tells_which_choices_it_heeds():
    assert set(EXPORT_CHOICES) == set(EXPORT_FORMATS)
    fields = set(ExportOptions.__dataclass_fields__)
    assert all(set(names) < fields for names in EXPORT_CHOICES.values())
    assert EXPORT_CHOICES["txt"] == ("times", "speakers", "form")
    assert EXPORT_CHOICES["csv"] == ()


def test_choices_of_the_page_reach_the_file(page, recording_id):
    event = {"recording": recording_id, "format": "txt"}
    plain = text_of(common.export_as(page, "zh-CN", event))
    assert "26位用户" in plain
    chosen = {"times": True, "form": "spoken"}
    other = text_of(common.export_as(page, "zh-CN", {**event, "options": chosen}))
    assert "二十六位用户" in other
    assert all(re.match(r"\[00:00:\d\d\] ", line) for line in other.splitlines())


def test_a_document_is_in_the_language_of_the_visitor(page, recording_id):
    event = {"recording": recording_id, "format": "md"}
    assert "Model: " in text_of(common.export_as(page, "en", event))
    assert "模型：" in text_of(common.export_as(page, "zh-CN", event))


def test_title_and_name_can_be_chosen(page, recording_id):
    options = {"title": "第一季度", "name": "{date} {name} {model} {duration}"}
    event = {"recording": recording_id, "format": "md", "options": options}
    sent = common.export_as(page, "zh-CN", event)
    today = datetime.now().astimezone().strftime("%Y-%m-%d")
    assert sent["name"] == f"{today} 例会 whisper-base 0h00m24s.md"
    assert text_of(sent).startswith(f"# 第一季度\n\n日期：{today}")


def test_the_template_of_the_installation_names_files(tmp_path, history, recording_id):
    settings = Settings(home=tmp_path / "home", export_name="{model}-{name}")
    with Engine(settings) as engine:
        path = engine.export(recording_id, "docx")
    assert path.name == "whisper-base-例会.docx"


def test_a_wrong_choice_is_told_in_the_visitors_language(page, recording_id):
    event = {"recording": recording_id, "format": "srt"}
    with pytest.raises(ExportError) as refused:
        common.export_as(page, "zh-CN", {**event, "options": {"line_chars": 3}})
    assert describe(refused.value, "zh-CN") == "导出选项 line_chars 的值“3”不可用，允许：8 – 60"
    with pytest.raises(SettingsError):
        common.export_as(page, "zh-CN", {**event, "options": {"name": "{nmae}"}})


@pytest.mark.parametrize("name", list(CLIP_FORMATS))
def test_a_selection_becomes_a_file_of_sound(page, settings, recording_id, name):
    event = {"recording": recording_id, "start_ms": 5000, "end_ms": 7500, "format": name}
    sent = common.clip(page, "zh-CN", event)
    assert (sent["kind"], sent["recording"]) == ("download", recording_id)
    assert sent["name"] == f"例会 00.00.05-00.00.07.{name}"
    path = Path(sent["path"])
    assert path.is_relative_to(settings.tmp)
    if name != "m4a":
        assert soundfile.info(path).duration == pytest.approx(2.5, abs=0.15)


@pytest.mark.parametrize(("start_ms", "end_ms"), [(5000, 5000), (-1, 10), (60_000, 61_000)])
def test_what_is_no_part_of_the_recording_is_refused(page, recording_id, start_ms, end_ms):
    event = {"recording": recording_id, "start_ms": start_ms, "end_ms": end_ms, "format": "wav"}
    with pytest.raises(ExportError) as refused:
        common.clip(page, "zh-CN", event)
    assert refused.value.details["reason"] == "range"


def test_a_clip_needs_a_known_format_and_a_kept_recording(page: Page, engine, recording_id):
    with pytest.raises(ExportError, match="flac"):
        engine.clip(recording_id, 0, 1000, "flac")
    engine.record(recording_id).path.unlink()
    with pytest.raises(ExportError) as refused:
        engine.clip(recording_id, 0, 1000, "wav")
    assert describe(refused.value, "en").startswith("The recording is not kept")
    with pytest.raises(RecordNotFoundError):
        engine.clip("none", 0, 1000, "wav")
