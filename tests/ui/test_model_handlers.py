"""The choice of a model on the forms, and what the system tab changes."""

from __future__ import annotations

import importlib.util

import pytest

from tests.golden.paraformer_files import PLAIN, SEACO
from ui.handlers import dictation, file, models

FORMS = ("", "", "")
UNTOUCHED = ("auto", "words", "words", "sign", [])


@pytest.fixture
def both(engine):
    """Whisper, which is not installed here, is the default; one that hears hotwords, one not."""
    for folder in (SEACO, PLAIN):
        engine.add_model_folder(folder)


def test_one_model_leaves_nothing_to_choose(page):
    dropdown, hotwords, *_ = models.offer(page, "zh-CN", *FORMS)
    assert dropdown.visible is False
    assert dropdown.choices == [("Whisper base（内置） · 默认", "")]
    assert "识别时不看热词" in hotwords.info


def test_all_that_can_be_used_is_offered_the_default_first(page, engine, both):
    dropdown, *_ = models.offer(page, "en", *FORMS)
    assert dropdown.visible is True
    assert [name for _, name in dropdown.choices] == ["", "paraformer_onnx", "paraformer_plain"]
    assert dropdown.choices[0][0] == "Whisper base (built in) · default"
    engine.use_model("paraformer_plain")
    dropdown, *_ = models.offer(page, "en", *FORMS)
    # Whisper is not installed: nobody could use it.
    assert dropdown.choices == [
        ("paraformer_plain · default", ""),
        ("paraformer_onnx", "paraformer_onnx"),
    ]


def test_a_chosen_model_stays_chosen_while_it_is_there(page, engine, both):
    first, *_ = models.offer(page, "en", "paraformer_onnx", "", "")
    assert first.value == "paraformer_onnx"
    engine.forget_model_folder("paraformer_onnx")
    first, *_ = models.offer(page, "en", "paraformer_onnx", "", "")
    assert first.value == ""


@pytest.mark.parametrize(
    ("name", "has_pypinyin", "says", "usable"),
    [
        ("paraformer_onnx", True, "the model listens for them", True),
        ("paraformer_onnx", False, "the model listens for them", True),
        ("paraformer_plain", True, "does not listen for them", True),
        ("paraformer_plain", False, "Of no use here", False),
    ],
)
def test_hotwords_say_what_they_are_good_for(
    page, both, monkeypatch, name, has_pypinyin, says, usable
):
    if not has_pypinyin:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    field = models.hint(page, "en", name)
    assert says in field.info
    assert field.interactive is usable


def test_the_choice_reaches_the_job(page, engine, recording, both):
    written = (*UNTOUCHED, "paraformer_plain")
    file.start(page, "en", str(recording), None, "", True, True, "auto", "mix", 0, *written)
    dictation.recorded(page, "en", str(recording), "", "paraformer_onnx")
    dictation.recorded(page, "en", str(recording), "", None)
    assert [job.options.model for job in engine.active_jobs()] == [
        "paraformer_plain",
        "paraformer_onnx",
        "whisper-base",
    ]


def test_a_wrong_path_stays_in_the_field_with_what_is_missing(page, tmp_path):
    (tmp_path / "tokens.json").touch()
    view = models.bring(page, "en", {"folder": f'  "{tmp_path}" '})
    assert (view["is_fault"], view["typed"]) == (True, str(tmp_path))
    assert "config.yaml, am.mvn" in view["said"]


def test_a_folder_for_punctuation_is_offered_on_the_forms(page, engine):
    _, before = models.extras(page, "en", "auto", "auto")
    assert "ct-punc" not in [value for _, value in before.choices]
    view = models.bring(page, "en", {"folder": str(PLAIN.parent / "ct_transformer")})
    assert "Punctuation · CT-Transformer" in view["said"]
    vad, marks = models.extras(page, "en", "off", "tagger")
    assert "ct-punc" in [value for _, value in marks.choices]
    assert (vad.value, marks.value) == ("off", "tagger")
    row = next(row for row in view["models"] if row["name"] == "ct-punc")
    assert (row["state"], row["brought"], row["may_use"]) == ("present", True, False)


def test_a_folder_is_let_go_of(page, engine, both):
    engine.use_model("paraformer_onnx")
    view = models.forget(page, "en", {"name": "paraformer_onnx"})
    assert "paraformer_onnx" not in [row["name"] for row in view["models"]]
    assert next(row["name"] for row in view["models"] if row["active"]) == "whisper-base"
    assert (SEACO / "config.yaml").is_file()
