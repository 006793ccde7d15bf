"""What the history of the served page holds before the first test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asr_core.errors import AudioDecodeError
from asr_core.jobs.model import JobState
from asr_core.results import HotwordUse, Sentence, Token, TranscriptWarning
from asr_core.settings import Settings
from asr_core.transcription.options import TranscribeOptions
from tests.seeding import (
    MEETING,
    fail,
    finish,
    open_history,
    queue,
    repeated_meeting,
    sentence,
    transcript,
    write_tone,
)

MARKUP = "<img src=x onerror=window.hacked=1>"
EXPRESSION = "${window.hacked=1}{{7*7}}`"
LONG_NAME = f"{'第三季度跨部门项目推进例会' * 12}{'x' * 60}.wav"
LONG_LINES = 750

HOSTILE = transcript(
    (
        Sentence((Token(MARKUP, 0, 4_000, 0.9),)),
        Sentence((Token(EXPRESSION, 4_000, 9_000, 0.1),), speaker=MARKUP),
    ),
    warnings=(TranscriptWarning("unknown", MARKUP),),
)
CALL = transcript(
    (
        sentence("您好这里是客服中心", 400, marks="。", speaker="声道1"),
        sentence("我的机器一直没有发货", 4_800, marks="。", speaker="声道2"),
        sentence("麻烦您查一下", 9_000, marks="。", speaker="声道2"),
        sentence("请稍等", 13_000, marks="。", speaker="声道1"),
    )
)
CORRECTED = replace(
    transcript(
        (
            sentence(
                "我们在生态路的三里屯开会", 400, marks="。", spans=[(3, 5, "胜太路", "hotword")]
            ),
            sentence(
                "升腾芯片到了五十片",
                4_800,
                marks="。",
                spans=[(0, 1, "昇腾", "replacement"), (6, 7, "50")],
            ),
        )
    ),
    hotwords=(HotwordUse("胜太路", 0, 1), HotwordUse("三里屯", 1, 0), HotwordUse("鲲鹏", 0, 0)),
)
RESULTS = {
    "热词更正.wav": CORRECTED,
    "客服通话.wav": CALL,
    "产品例会.m4a": transcript(),
    f"{MARKUP}.wav": HOSTILE,
    "客户访谈.mp4": transcript(
        gaps=((6_000, 8_400), (22_000, 30_000)),
        warnings=(
            TranscriptWarning("coverage", "2.4 s missing"),
            TranscriptWarning("truncated", "24 of 30 s", ((22_000, 30_000),)),
        ),
    ),
    "周会.wav": transcript(MEETING[:3], partial=True),
    "培训.mp3": transcript(),
    "空房间.wav": transcript((), warnings=(TranscriptWarning("no_speech", "none"),)),
    "十小时.wav": transcript(repeated_meeting(150, 240_000), duration_ms=36_000_000),
    LONG_NAME: transcript((Sentence((Token("x" * 400, 0, 9_000, 0.9),)), *MEETING)),
}
"""Name to transcript."""

NOT_KEPT = "命令行.wav"
"""Transcribed, but without its recording."""


def fill(settings: Settings, folder: Path) -> None:
    """Transcribed recordings with the results above, one that failed, one that was cancelled."""
    tone = write_tone(folder / "tone.wav")
    with open_history(settings) as history:
        not_kept = history.add_recording(tone, name=NOT_KEPT, origin="cli", keep="none")
        job = history.add_job(not_kept, TranscribeOptions(), running=True)
        history.save_transcript(job.id, transcript(), JobState.DONE)
        for name, result in RESULTS.items():
            finish(history, queue(history, tone, name).id, result)
        error = AudioDecodeError("x", path="坏.mp3", reason="damaged")
        fail(history, queue(history, tone, "坏.mp3").id, error)
        history.set_state(queue(history, tone, "不要了.wav").id, JobState.CANCELLED)
