"""Tokens become sentences as they come in, and nothing of them is lost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.errors import NormalizationError
from asr_core.results import Sentence, Token, WrittenSpan
from asr_core.runtime.session import Float32
from asr_core.text.hotwords import HotwordCorrector
from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.text.itn.style import ItnStyle
from asr_core.text.punctuation.base import MARKS
from asr_core.text.punctuation.marks import Punctuator
from asr_core.text.sentences import SentenceBuilder, TextStages
from asr_core.text.tokens import TimedPiece, tokens_from_pieces

BARE = TextStages(marks=False)
OWN = TextStages()
texts = st.text(
    st.sampled_from("我们三十五百万点今天开会三峡胜太路，。？！、 abG9%呃的"), max_size=120
)


class WordModel:
    """A punctuation network that anyone can foresee: a comma after 呢, a full stop after 了."""

    name = "words"

    def __init__(self) -> None:
        self.seen: list[tuple[str, ...]] = []

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> Float32:
        del pauses_ms
        self.seen.append(tuple(words))
        scores = np.full((len(words), len(MARKS)), -5.0, np.float32)
        scores[:, 0] = -1.0
        for index, word in enumerate(words):
            if word in ("呢", "了"):
                scores[index, 1 if word == "呢" else 2] = 0.0
        return scores


class Broken:
    """Every stage at once, and each fails."""

    name = "broken"
    problems = ()

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> Float32:
        raise NormalizationError("no", reason="no")

    def spans(
        self,
        tokens: Sequence[Token],
        *,
        style: ItnStyle | None = None,
        protected: Sequence[tuple[int, int]] = (),
    ) -> tuple[WrittenSpan, ...]:
        raise NormalizationError("no", reason="no")


def pieces(*texts: str) -> list[TimedPiece]:
    """Pieces without a gap, 100 ms for each character."""
    made, position = [], 0
    for text in texts:
        made.append(TimedPiece(text, position, position + 100 * len(text), 0.9))
        position += 100 * len(text)
    return made


def spoken(text: str, *, gap_after: dict[int, int] | None = None) -> list[Token]:
    """One token a character, 200 ms each; ``gap_after`` adds silence after a character."""
    tokens, position = [], 0
    for index, char in enumerate(text):
        tokens.append(Token(char, position, position + 200, 0.9))
        position += 200 + (gap_after or {}).get(index, 0)
    return tokens


def build_sentences(tokens: Sequence[Token], stages: TextStages) -> list[Sentence]:
    builder = SentenceBuilder(stages)
    return [*builder.accept(tokens), *builder.finish()]


def written(tokens: Sequence[Token], stages: TextStages) -> list[str]:
    return [sentence.text for sentence in build_sentences(tokens, stages)]


def test_sentences_read_well_with_and_without_marks() -> None:
    tokens = tokens_from_pieces(pieces("你好，世界。", "再见"))
    assert written(tokens, OWN) == ["你好，世界。", "再见。"]
    assert written(tokens, BARE) == ["你好世界", "再见"]


def test_a_recognizer_without_marks_gets_commas_and_full_stops_from_pauses() -> None:
    tokens = spoken("大家好今天开会谢谢", gap_after={2: 500, 6: 2000})
    assert written(tokens, OWN) == ["大家好，今天开会。", "谢谢。"]


def test_speech_that_goes_on_after_a_length_cut_gets_a_comma() -> None:
    assert written(spoken("声" * 70), OWN) == ["声" * 60 + "，", "声" * 10 + "。"]


def test_english_sentences_close_with_their_own_stop() -> None:
    assert written(tokens_from_pieces(pieces(" see", " you")), OWN) == ["see you."]


def test_numbers_are_written_sentence_by_sentence() -> None:
    tokens = tokens_from_pieces(pieces("一共三十五个。", "还有五十个。"))
    sentences = build_sentences(tokens, TextStages(normalizer=RuleNormalizer()))
    assert [s.text for s in sentences] == ["一共35个。", "还有50个。"]
    assert [s.spoken_text for s in sentences] == ["一共三十五个。", "还有五十个。"]


def test_restored_marks_take_the_place_of_the_recognizers_own() -> None:
    tokens = tokens_from_pieces(pieces("那，么呢我来了", "你呢他走了"))
    stages = TextStages(punctuator=Punctuator(WordModel()))
    assert written(tokens, stages) == ["那么呢，我来了。", "你呢，他走了。"]


def test_the_dot_inside_a_name_stays() -> None:
    tokens = tokens_from_pieces(pieces("约翰·史密斯来了"))
    assert written(tokens, TextStages(punctuator=Punctuator(WordModel()))) == ["约翰·史密斯来了。"]


def test_the_model_sees_what_was_said_before() -> None:
    model = WordModel()
    builder = SentenceBuilder(TextStages(punctuator=Punctuator(model)))
    following = "我们今天在这里开会说一说这个项目的进展情况和下一步的安排"
    first = builder.accept(spoken("他来了" + following))
    assert [sentence.text for sentence in first] == ["他来了。"]
    builder.finish()
    assert "".join(model.seen[-1]).startswith("他来了我们今天")


def test_marks_are_chosen_by_the_words_that_are_meant() -> None:
    model = WordModel()
    corrector = HotwordCorrector(("胜太路", "GPU"), (("几皮", "GPU"),))
    stages = TextStages(punctuator=Punctuator(model), corrector=corrector)
    (sentence,) = build_sentences(spoken("在圣太路买几皮"), stages)
    assert (sentence.spoken_text, sentence.text) == ("在圣太路买几皮。", "在胜太路买GPU。")
    # A correction of another length has no character for each that was heard.
    assert set(model.seen) == {tuple("在胜太路买几皮")}


def test_a_sentence_end_without_enough_behind_it_waits() -> None:
    builder = SentenceBuilder(TextStages(punctuator=Punctuator(WordModel())))
    assert builder.accept(spoken("他来了我们走")) == []
    assert builder.pending_start_ms == 0
    assert [sentence.text for sentence in builder.finish()] == ["他来了。", "我们走。"]
    assert builder.pending_start_ms is None


def test_a_long_pause_settles_what_stands_before_it() -> None:
    builder = SentenceBuilder(TextStages(punctuator=Punctuator(WordModel())))
    done = builder.accept(spoken("他来了我们走", gap_after={2: 1500}))
    assert [sentence.text for sentence in done] == ["他来了。"]


def test_a_hotword_is_corrected_counted_and_kept_from_numbers() -> None:
    stages = TextStages(
        normalizer=RuleNormalizer(), corrector=HotwordCorrector(("胜太路", "三里屯"), ())
    )
    builder = SentenceBuilder(stages)
    tokens = tokens_from_pieces(
        [
            TimedPiece("我在", 0, 400, 0.9),
            TimedPiece("生态录", 400, 1000, 0.2),
            TimedPiece("上班，去三里屯。", 1000, 2400, 0.9),
        ]
    )
    sentences = [*builder.accept(tokens), *builder.finish()]
    assert [s.text for s in sentences] == ["我在胜太路上班，去三里屯。"]
    assert [s.spoken_text for s in sentences] == ["我在生态录上班，去三里屯。"]
    assert [(s.kind, s.written) for s in sentences[0].spans] == [("hotword", "胜太路")]
    uses = [(use.word, use.recognized, use.corrected) for use in builder.hotwords]
    assert uses == [("胜太路", 0, 1), ("三里屯", 1, 0)]


def test_every_hotword_is_counted_once_whoever_wrote_it() -> None:
    corrector = HotwordCorrector(("韩总", "GPU", "飞书"), (("销机", "GPU"),))
    builder = SentenceBuilder(TextStages(corrector=corrector))
    builder.accept(tokens_from_pieces(pieces("韩总用", "GPU", "。请含总看", "g p u", "和销机。")))
    builder.finish()
    uses = [(use.word, use.recognized, use.corrected) for use in builder.hotwords]
    assert uses == [("韩总", 1, 1), ("GPU", 1, 2), ("飞书", 0, 0)]


def test_a_stage_that_fails_leaves_the_text_and_says_so() -> None:
    tokens = tokens_from_pieces(pieces("一共三十五个，", "好了。"))
    builder = SentenceBuilder(TextStages(normalizer=Broken(), punctuator=Punctuator(Broken())))
    sentences = [*builder.accept(tokens), *builder.finish()]
    assert [s.text for s in sentences] == ["一共三十五个，好了。"]
    assert builder.failed == {"normalization", "punctuation"}


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("restored", [True, False])
@settings(deadline=None, max_examples=60)
@given(texts, st.lists(st.integers(0, 120), max_size=4), st.data())
def test_the_token_list_survives_every_stage(
    marks: bool, restored: bool, text: str, cuts: list[int], data: st.DataObject
) -> None:
    tokens = _timed(text, data)
    stages = TextStages(
        normalizer=RuleNormalizer(),
        punctuator=Punctuator(WordModel()) if restored else None,
        corrector=HotwordCorrector(("胜太路", "三峡"), (("开会", "会议"),)),
        marks=marks,
    )
    builder = SentenceBuilder(stages)
    sentences: list[Sentence] = []
    edges = [0, *sorted(cuts), len(tokens)]
    for first, last in itertools.pairwise(edges):
        sentences += builder.accept(tokens[first:last])
    sentences += builder.finish()
    kept = [token for sentence in sentences for token in sentence.tokens]
    assert [(t.text, t.start_ms, t.end_ms, t.confidence) for t in kept] == [
        (t.text, t.start_ms, t.end_ms, t.confidence) for t in tokens
    ]
    assert [t.start_ms for t in kept] == sorted(t.start_ms for t in kept)
    assert marks or not any(token.mark for token in kept)
    for sentence in sentences:
        _check_spans(sentence)


def _check_spans(sentence: Sentence) -> None:
    """Sorted, disjoint, inside the sentence; without them the spoken form is left."""
    free = 0
    for span in sentence.spans:
        assert free <= span.first_token <= span.last_token < len(sentence.tokens)
        assert not any(t.mark for t in sentence.tokens[span.first_token : span.last_token])
        free = span.last_token + 1
    assert Sentence(sentence.tokens).text == sentence.spoken_text


def _timed(text: str, data: st.DataObject) -> tuple[Token, ...]:
    """The text as recognizer tokens with drawn pauses and confidences."""
    made, position = [], 0
    for char in text:
        length = data.draw(st.integers(0, 200))
        confidence = data.draw(st.floats(0, 1))
        made.append(TimedPiece(char, position, position + length, confidence))
        position += length + data.draw(st.sampled_from([0, 0, 0, 300, 1500]))
    return tokens_from_pieces(made)
