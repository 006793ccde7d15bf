"""Names of files from templates: never empty, never two alike, fit for Windows and Linux."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.errors import ExportError, SettingsError
from asr_core.export.naming import Named, name_file
from asr_core.export.options import ExportOptions
from asr_core.export.registry import put_file, put_new_file
from asr_core.settings import NAME_FIELDS, Settings

CREATED = datetime(2025, 3, 15, 14, 5, 9, tzinfo=timezone.utc)
MEETING = Named("录音/周会.m4a", "paraformer-large", CREATED, 3_725_000)


@pytest.mark.parametrize(
    ("template", "number", "expected"),
    [
        ("", 1, "周会.srt"),
        ("{name}", 2, "周会 (2).srt"),
        ("{date} {name} {model}", 1, "2025-03-15 周会 paraformer-large.srt"),
        ("{date}_{time}_{duration}", 1, "2025-03-15_14.05.09_1h02m05s.srt"),
        ("{number}. {name}", 1, "1. 周会.srt"),
        ("{number}. {name}", 12, "12. 周会.srt"),
        ("{name}{name}", 1, "周会周会.srt"),
        ("纪要", 1, "纪要.srt"),
        ("纪要", 3, "纪要 (3).srt"),
        (" . ", 1, "transcript.srt"),
        ("a:b*{name}?", 1, "ab周会.srt"),
        ("nul", 1, "_nul.srt"),
        ("COM¹.{name}", 1, "_COM¹.周会.srt"),
    ],
)
def test_a_template_is_filled(template: str, number: int, expected: str) -> None:
    assert name_file(template, MEETING, "srt", number) == expected


def test_what_is_not_known_is_left_out() -> None:
    assert name_file("{date} {name} {model}", Named("a.wav"), "txt") == "a.txt"
    assert name_file("{date}{model}", Named("a.wav"), "txt") == "transcript.txt"


def test_models_and_names_cannot_leave_their_folder() -> None:
    made = name_file("{name} {model}", Named("../../a", "..\\..\\b/c"), "txt")
    assert made == "a bc.txt"
    assert Path(made).name == made


def test_a_long_name_gives_way_to_the_rest() -> None:
    named = Named("语" * 300 + ".wav", "whisper-base", CREATED)
    made = name_file("{name} {date} {number}", named, "docx", 7)
    assert made.endswith("语 2025-03-15 7.docx")
    assert 250 < len(made.encode()) <= 255


anything = st.one_of(st.text(max_size=40), st.text("语 .a/\\:\0👨\u200d", max_size=300))
templates = st.lists(
    st.one_of(
        st.sampled_from([f"{{{field}}}" for field in NAME_FIELDS]),
        st.text(max_size=8).filter(lambda text: not re.search(r"[{}/\\\x00-\x1f]", text)),
    ),
    max_size=6,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(templates, anything, anything, st.integers(1, 9999))
def test_any_template_gives_usable_names(template: str, name: str, model: str, number: int) -> None:
    named = Named(name, model, CREATED, 61_000)
    made = name_file(template, named, "jsonl", number)
    assert re.fullmatch(r"[^ .].*\.jsonl", made)
    assert len(made.encode()) <= 255
    assert not re.search(r'[/\\\x00-\x1f\x7f<>:"|?*]', made)
    assert not re.match(r"(?i)(con|prn|aux|nul|com\d|lpt\d)\.", made)
    assert not re.search(r"[ .]\.jsonl$", made)
    assert made != name_file(template, named, "jsonl", number + 1)


@pytest.mark.parametrize(
    "template",
    [
        *("{titel}", "{}", "{name", "name}", "{{name}}", "{na{date}me}", "{name!r}", "{name:>9}"),
        *("a/{name}", "a\\{name}", "a\n", "{0}", "{name.x}", "x" * 201),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused_at_the_start(
    template: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings(home=tmp_path, export_name=template)
    assert refused.value.details["name"] == "ASR_EXPORT_NAME"
    assert "{date} {time} {name}" in str(refused.value.details["allowed"])
    with pytest.raises(SettingsError):
        name_file(template, MEETING, "srt")


def test_the_template_of_an_installation_comes_from_its_environment() -> None:
    assert Settings.from_env({"ASR_EXPORT_NAME": "{date} {name}"}).export_name == "{date} {name}"
    with pytest.raises(SettingsError):
        Settings.from_env({"ASR_EXPORT_NAME": "{nmae}"})


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    def name_of(number: int) -> str:
        return name_file("{name}", MEETING, "txt", number)

    (tmp_path / "周会 (2).txt").symlink_to(tmp_path / "nowhere")
    made = [put_new_file(text, tmp_path, name_of) for text in (b"1", b"2", b"3")]
    assert [path.name for path in made] == ["周会.txt", "周会 (3).txt", "周会 (4).txt"]
    assert [path.read_bytes() for path in made] == [b"1", b"2", b"3"]
    assert not put_file(b"4", made[0], replace=False)
    assert made[0].read_bytes() == b"1"
    assert put_file(b"5", made[0], replace=True)
    assert made[0].read_bytes() == b"5"
    assert len(list(tmp_path.iterdir())) == 4


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExportError):
        put_new_file(b"", tmp_path / "none", lambda number: f"{number}.txt")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"form": "sung"}, "form"),
        ({"form": 1}, "form"),
        ({"line_chars": 7}, "line_chars"),
        ({"line_chars": 61}, "line_chars"),
        ({"line_chars": "wide"}, "line_chars"),
        ({"line_chars": True}, "line_chars"),
        ({"times": "yes"}, "times"),
        ({"speakers": None}, "speakers"),
        ({"words": 1}, "words"),
        ({"title": "x" * 501}, "title"),
        ({"title": ["x"]}, "title"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_choices_of_the_page_are_checked(values: dict[str, object], field: str) -> None:
    with pytest.raises(ExportError) as refused:
        ExportOptions.from_fields(values)
    assert refused.value.details["reason"] == "option"
    assert refused.value.details["name"] == field


def test_choices_of_the_page_become_options() -> None:
    sent = {"times": None, "speakers": False, "form": "spoken", "line_chars": "30", "title": "题"}
    expected = ExportOptions(speakers=False, form="spoken", line_chars=30, title="题")
    assert ExportOptions.from_fields(sent) == expected
    assert ExportOptions.from_fields({}) == ExportOptions()
