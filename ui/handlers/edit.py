"""What the page's editor of transcripts asks for, one function for each operation.

All take ``(page, locale, data)``; ``data`` names the recording, the stamp that the edit is made
on, and what the operation needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from asr_core.editing import EditResult
from asr_core.messages import error_message
from ui import edit_view
from ui.guard import Page
from ui.handlers import models
from ui.handlers.common import hotword_lines
from ui.view import View, record_view, words_view

Data = Mapping[str, Any]


def edit(page: Page, locale: str, data: Data) -> View:
    """Do what ``data["op"]`` names."""
    name = str(data["op"])
    if name in _CHANGES:
        return _changed(page, data, _CHANGES[name](page, data))
    return _QUESTIONS[name](page, locale, data)


def _changed(page: Page, data: Data, result: EditResult) -> View:
    view = edit_view.changed_view(result)
    if result.kind in ("drop_correction", "restore"):
        transcript = page.engine.record(_id(data)).transcript
        view["words"] = words_view(transcript) if transcript else []
    return view


def _id(data: Data) -> str:
    return str(data["recording"])


def _at(data: Data) -> tuple[str, str]:
    return _id(data), str(data["stamp"])


def _text(page: Page, data: Data) -> EditResult:
    return page.engine.edit_text(*_at(data), int(data["position"]), str(data["text"]))


def _split(page: Page, data: Data) -> EditResult:
    return page.engine.split_sentence(*_at(data), int(data["position"]), int(data["offset"]))


def _merge(page: Page, data: Data) -> EditResult:
    return page.engine.merge_sentences(*_at(data), int(data["position"]), int(data["count"]))


def _remove(page: Page, data: Data) -> EditResult:
    return page.engine.remove_sentences(*_at(data), int(data["position"]), int(data["count"]))


def _speaker(page: Page, data: Data) -> EditResult:
    first, count = int(data["position"]), int(data["count"])
    return page.engine.set_speaker(*_at(data), first, count, str(data["speaker"]))


def _rename(page: Page, data: Data) -> EditResult:
    return page.engine.rename_speaker(*_at(data), str(data["old"]), str(data["speaker"]))


def _confirm(page: Page, data: Data) -> EditResult:
    first, last = int(data["first"]), int(data["last"])
    return page.engine.confirm_words(*_at(data), int(data["position"]), first, last)


def _drop(page: Page, data: Data) -> EditResult:
    return page.engine.drop_correction(*_at(data), int(data["position"]), int(data["first"]))


def _undo(page: Page, data: Data) -> EditResult:
    return page.engine.undo_edit(*_at(data))


def _redo(page: Page, data: Data) -> EditResult:
    return page.engine.redo_edit(*_at(data))


def _restore(page: Page, data: Data) -> EditResult:
    return page.engine.restore_version(*_at(data), int(data["revision"]))


def _accept(page: Page, data: Data) -> EditResult:
    return page.engine.accept_proposal(str(data["job"]), str(data["stamp"]))


def _replace(page: Page, locale: str, data: Data) -> View:
    """Replace every hit, as the preview with that stamp has shown."""
    recording_id, stamp = _at(data)
    query, text, case = str(data["query"]), str(data["text"]), bool(data.get("case"))
    (done,) = page.engine.replace_text({recording_id: stamp}, query, text, case=case)
    if done.result is None:
        details = dict(done.error_details)
        sentence = error_message(done.error_code, details, locale)
        return {"error": {"code": done.error_code, "text": sentence, "details": details}}
    return edit_view.changed_view(done.result)


def _open(page: Page, _locale: str, data: Data) -> View:
    """Where the transcript stands."""
    return edit_view.opened_view(page.engine.editable(_id(data), 0, 0))


def _load(page: Page, locale: str, data: Data) -> View:
    """The whole record, after somebody else has changed it."""
    return record_view(page.engine.record(_id(data)), locale)


def _preview(page: Page, _locale: str, data: Data) -> View:
    found = page.engine.preview_replace(
        [_id(data)], str(data["query"]), str(data["text"]), case=bool(data.get("case"))
    )
    return edit_view.preview_view(found[0] if found else None)


def _versions(page: Page, _locale: str, data: Data) -> View:
    return edit_view.versions_view(page.engine.versions(_id(data)))


def _name(page: Page, locale: str, data: Data) -> View:
    page.engine.name_version(*_at(data), str(data["name"]))
    return _versions(page, locale, data)


def _diff(page: Page, _locale: str, data: Data) -> View:
    found = page.engine.compare_versions(_id(data), int(data["before"]), int(data["after"]))
    return edit_view.differences_view(found)


def _choices(page: Page, locale: str, data: Data) -> View:
    """What a part can be recognized again with."""
    options = page.engine.record(_id(data)).job.options
    return {
        "models": [list(choice) for choice in models.choices(page, locale)],
        "hotwords": list(options.hotwords),
    }


def _retranscribe(page: Page, locale: str, data: Data) -> View:
    job = page.engine.retranscribe(
        _id(data),
        int(data["start_ms"]),
        int(data["end_ms"]),
        hotwords=hotword_lines(str(data["hotwords"])),
        model=str(data["model"]),
    )
    return edit_view.proposal_view(page.engine.proposal(job.id), locale)


def _proposal(page: Page, locale: str, data: Data) -> View:
    return edit_view.proposal_view(page.engine.proposal(str(data["job"])), locale)


def _dismiss(page: Page, _locale: str, data: Data) -> View:
    page.engine.dismiss_proposal(str(data["job"]))
    return {}


_CHANGES: dict[str, Callable[[Page, Data], EditResult]] = {
    "text": _text,
    "split": _split,
    "merge": _merge,
    "remove": _remove,
    "speaker": _speaker,
    "rename": _rename,
    "confirm": _confirm,
    "drop": _drop,
    "undo": _undo,
    "redo": _redo,
    "restore": _restore,
    "accept": _accept,
}
_QUESTIONS: dict[str, Callable[[Page, str, Data], View]] = {
    "replace": _replace,
    "open": _open,
    "load": _load,
    "preview": _preview,
    "versions": _versions,
    "name": _name,
    "diff": _diff,
    "choices": _choices,
    "retranscribe": _retranscribe,
    "proposal": _proposal,
    "dismiss": _dismiss,
}
