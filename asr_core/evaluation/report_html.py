"""An evaluation as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from asr_core.evaluation.alignment import Edit
from asr_core.evaluation.comparison import Comparison
from asr_core.evaluation.measure import Evaluation, Group, Utterance
from asr_core.evaluation.report import hotword_cell, mark_rows, number_cells, percent
from asr_core.messages import message
from asr_core.results import ModelInfo
from asr_core.text.scoring import ErrorRate

_STYLE = """
:root { color-scheme: light dark; --bg: #f6f7f8; --card: #fff; --ink: #1c2529; --soft: #566268; --line: #e2e6e8;
  --accent: #0f766e; --sub: #fdf3e1; --sub-ink: #8a4306; --del: #fdecea; --del-ink: #b42318; --ins: #e1efff; --ins-ink: #1d4ed8; }
@media (prefers-color-scheme: dark) { :root { --bg: #12181b; --card: #1a2226; --ink: #e6ecee; --soft: #a5b1b7; --line: #2b363b;
  --accent: #4fb8ac; --sub: #33291a; --sub-ink: #e9b777; --del: #3a2220; --del-ink: #f08f86; --ins: #1b2c47; --ins-ink: #9cc2ff; } }
body { margin: 0; background: var(--bg); color: var(--ink); font: 15px/1.7 "PingFang SC", "Noto Sans CJK SC", "Microsoft YaHei", system-ui, sans-serif; }
main { max-width: 1080px; margin: auto; padding: 24px 16px; }
h1 { font-size: 20px; } h2 { font-size: 16px; margin: 0 0 8px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; margin: 16px 0; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } td, th { text-align: left; padding: 3px 16px 3px 0; border-bottom: 1px solid var(--line); font-weight: 400; vertical-align: top; }
th { color: var(--soft); font-size: 13px; } .n { text-align: right; } .soft { color: var(--soft); font-size: 13px; }
.big { font-size: 32px; line-height: 1.2; color: var(--accent); }
del { background: var(--del); color: var(--del-ink); text-decoration: line-through; border-radius: 3px; }
ins { background: var(--ins); color: var(--ins-ink); text-decoration: underline; border-radius: 3px; }
.s del { background: var(--sub); color: var(--sub-ink); } .s ins { background: var(--sub); color: var(--sub-ink); text-decoration: none; font-weight: 600; }
.text { overflow-wrap: anywhere; margin: 2px 0 12px; }
"""  # noqa: E501 - one rule a line


def to_html(evaluation: Evaluation, model: ModelInfo | None, locale: str) -> str:
    """The report; every text from outside is escaped, nothing is loaded from anywhere."""
    words = _Words(locale)
    parts = [
        _summary(evaluation, model, words),
        _groups("speakers", evaluation.speakers, words),
        _groups("tags", evaluation.tags, words),
        _marks(evaluation, words),
        _hotwords(evaluation, words),
        _confusions(evaluation, words),
        _suggestions(evaluation, words),
        _names("empty_list", evaluation.empty, words),
        _texts(evaluation, words),
    ]
    title = words("title")
    return (
        f'<!doctype html>\n<html lang="{escape(locale)}">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{title}</h1>\n"
        + "\n".join(filter(None, parts))
        + "</main></body></html>\n"
    )


def difference_html(comparison: Comparison) -> str:
    """The aligned texts: what is missing struck through, what is extra underlined."""
    parts = []
    for piece in comparison.pieces():
        said, heard, after = map(escape, (piece.reference, piece.hypothesis, piece.after))
        if piece.kind is Edit.EQUAL:
            parts.append(said)
        elif piece.kind is Edit.SUBSTITUTION:
            parts.append(f'<span class="s"><del>{said}</del><ins>{heard}</ins></span>')
        elif piece.kind is Edit.DELETION:
            parts.append(f"<del>{said}</del>")
        else:
            parts.append(f"<ins>{heard}</ins>")
        parts.append(after)
    return "".join(parts)


class _Words:
    """Sentences of one language, escaped."""

    def __init__(self, locale: str) -> None:
        self.locale = locale

    def __call__(self, key: str, **values: object) -> str:
        return escape(message(f"evaluate.{key}", self.locale, **values))


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _counts(counts: ErrorRate, words: _Words) -> str:
    return words(
        "counts",
        substitutions=counts.substitutions,
        deletions=counts.deletions,
        insertions=counts.insertions,
        chars=counts.reference_chars,
    )


def _summary(evaluation: Evaluation, model: ModelInfo | None, words: _Words) -> str:
    rows = [(words("utterances"), str(len(evaluation.utterances)))]
    if model is not None:
        name = f"{model.name} · {model.backend} · {model.device}"
        rows.append((words("model"), escape(name)))
    names = "、" if words.locale.startswith("zh") else ", "
    used = names.join(words(f"name.{name}") for name in evaluation.normalizations)
    rows.append((words("normalizations"), used or words("none")))
    if evaluation.spoken_counts is not None:
        spoken = evaluation.spoken_counts
        rows.append((words("spoken_cer"), f"{percent(spoken.rate)} · {_counts(spoken, words)}"))
    if evaluation.numbers is not None:
        cells = number_cells(evaluation.numbers, words.locale)
        rows.append((words("numbers"), " · ".join(map(escape, cells))))
    if evaluation.duration_ms:
        rows.append((words("rtf"), f"{evaluation.rtf:.3f}"))
    counts = evaluation.counts
    head = f'<div class="big">{percent(counts.rate)}</div><p>{_counts(counts, words)}</p>'
    return _section(words("cer"), head + _table((), rows))


def _groups(key: str, groups: Sequence[Group], words: _Words) -> str:
    if not groups:
        return ""
    rows = [
        (
            escape(group.name) or words("unnamed"),
            str(group.utterances),
            percent(group.counts.rate),
            _counts(group.counts, words),
        )
        for group in groups
    ]
    head = (words("name"), words("utterances"), words("cer"), words("errors"))
    return _section(words(key), _table(head, rows))


def _marks(evaluation: Evaluation, words: _Words) -> str:
    if evaluation.marks is None:
        return ""
    rows = [
        (
            escape(name),
            str(score.expected),
            str(score.given),
            percent(score.precision),
            percent(score.recall),
            percent(score.f1),
        )
        for name, score in mark_rows(evaluation.marks, words.locale)
    ]
    keys = ("mark", "expected", "given", "precision", "recall", "f1")
    return _section(words("marks"), _table([words(key) for key in keys], rows))


def _hotwords(evaluation: Evaluation, words: _Words) -> str:
    if not evaluation.hotwords:
        return ""
    rows = [
        (escape(score.word), escape(hotword_cell(score, words.locale)))
        for score in evaluation.hotwords
    ]
    return _section(words("hotwords"), _table((), rows))


def _confusions(evaluation: Evaluation, words: _Words) -> str:
    if not evaluation.confusions:
        return ""
    rows = []
    for pair in evaluation.confusions:
        places = "<br>".join(
            f"{escape(place.before)}<span class='s'><del>{escape(place.reference)}</del>"
            f"<ins>{escape(place.hypothesis)}</ins></span>{escape(place.after)}"
            for place in pair.contexts
        )
        shown = f"{escape(pair.reference)} → {escape(pair.hypothesis)}"
        rows.append((shown, str(pair.count), f'<span class="soft">{places}</span>'))
    head = (words("confusion"), words("count"), words("places"))
    return _section(words("confusions"), _table(head, rows))


def _suggestions(evaluation: Evaluation, words: _Words) -> str:
    if not evaluation.suggestions:
        return ""
    rows = [(escape(one.word), f"{one.missed}/{one.total}") for one in evaluation.suggestions]
    head = (words("suggestion"), words("missed"))
    return _section(words("suggestions"), _table(head, rows))


def _names(key: str, names: Sequence[str], words: _Words) -> str:
    if not names:
        return ""
    return _section(words(key), "<br>".join(map(escape, names)))


def _texts(evaluation: Evaluation, words: _Words) -> str:
    """Every recording with its differences, the worst ones first."""
    legend = (
        f"<p class='soft'><del>{words('legend.delete')}</del> <ins>{words('legend.insert')}</ins> "
        f"<span class='s'><del>{words('legend.said')}</del>"
        f"<ins>{words('legend.heard')}</ins></span></p>"
    )
    ranked = sorted(evaluation.utterances, key=_badness)
    body = "".join(
        f"<div class='soft'>{escape(one.sample.audio)} · {percent(one.comparison.counts.rate)}"
        f"{f' · {escape(one.outcome.error)}' if one.outcome.error else ''}</div>"
        f"<div class='text'>{difference_html(one.comparison)}</div>"
        for one in ranked
    )
    return _section(words("texts"), legend + body)


def _badness(utterance: Utterance) -> tuple[float, str]:
    return -utterance.comparison.counts.rate, utterance.sample.audio
