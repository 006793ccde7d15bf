"""Users get marks where a reader expects them, whatever a punctuation model scores."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import NormalizationError, UsageError
from asr_core.results import Token, join_text
from asr_core.runtime.session import Float32
from asr_core.text.punctuation.base import MARKS
from asr_core.text.punctuation.lines import strip_marks
from asr_core.text.punctuation.marks import Punctuator, place_marks, punctuate_text
from asr_core.text.tokens import TimedPiece, tokens_from_pieces

FULL_WIDTH = {",": "，", ".": "。", "?": "？", "!": "！", ";": "；", ":": "："}
REMOVED = "，。？！、；：,.?!;:"


def confident(marks: Sequence[str], *, nothing: float = 0.9) -> np.ndarray:
    """Scores of a model that is 0.9 sure of each of these marks, and of no mark as stated."""
    chances = np.empty((len(marks), len(MARKS)), np.float32)
    for index, mark in enumerate(marks):
        sure = 0.9 if mark else nothing
        chances[index] = (1 - sure) / (len(MARKS) - 1)
        chances[index, MARKS.index(FULL_WIDTH.get(mark, mark))] = sure
    return np.log(chances)


def placed(
    wanted: str,
    *,
    closed: bool = False,
    protected: Sequence[tuple[int, int]] = (),
    nothing: float = 0.9,
) -> str:
    """What stands when the model wants the marks of ``wanted``."""
    tokens = tokens_from_pieces([TimedPiece(wanted, 0, 1000, 0.9)])
    scores = confident([token.mark for token in tokens], nothing=nothing)
    marks = place_marks(tokens, scores, protected=protected, closed=closed)
    return join_text((token.text, mark) for token, mark in zip(tokens, marks, strict=True))


class OneMark:
    """Wants the same mark behind every word."""

    name = "one mark"

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> np.ndarray:
        return confident([self._mark] * len(words))


class ByWord:
    """Wants a mark that the word itself decides, so the same in every text."""

    name = "by word"

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> np.ndarray:
        return confident([MARKS[sum(map(ord, word)) % len(MARKS)] for word in words])


class After:
    """Wants marks behind certain words; keeps what it was asked."""

    name = "after"

    def __init__(self, marks: dict[str, str]) -> None:
        self._marks = marks
        self.words: list[str] = []
        self.pauses_ms: list[int] | None = None

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> np.ndarray:
        self.words = list(words)
        self.pauses_ms = None if pauses_ms is None else list(pauses_ms)
        return confident([self._marks.get(word, "") for word in words])


class TestPlaces:
    @pytest.mark.parametrize(
        "number",
        [
            *(
                "三百五十",
                "一千零五",
                "一百五",
                "两千零八年八月八号",
                "二零二四年",
                "一三八零零一三八",
            ),
            *("三点五", "百分之五", "百分之三点五", "百分之百", "三分之一", "三点半", "九点一刻"),
            *("三点五十分", "三块五毛", "三块五", "一米八", "三五个", "十七八岁", "四十五六万"),
            *(
                "三四十个",
                "几十个",
                "十几个",
                "二十多个",
                "第三",
                "零下五度",
                "三比二",
                "一亿两千万",
            ),
            *("一百二十三万四千五百六十七点八九", "星期三", "三个", "五公里", "3.5", "10:30"),
            *(
                "一点五个",
                "二十五千克",
                "一米七五",
                "五G",
                "五百一十二G",
                "PM二点五",
                "B二B",
                "iPhone十五",
            ),
            *("A零七ZX三F", "五点一点二", "一百分之一", "三又五分之一", "五杠三", "一千零八十P"),
        ],
    )
    @pytest.mark.parametrize("mark", ["，", "。", "；"])
    def test_never_inside_a_number(self, number: str, mark: str) -> None:
        tokens = tokens_from_pieces([TimedPiece(f"有{number}了", 0, 1000, 0.9)])
        marks = place_marks(tokens, confident([mark] * len(tokens)), closed=False)
        number_tokens = tokens_from_pieces([TimedPiece(number, 0, 1000, 0.9)])
        assert not any(marks[1 : len(number_tokens)])

    @pytest.mark.parametrize(
        "line",
        [
            *(
                "一百，两百，三百",
                "三十五，四十六",
                "十一、十二、十三",
                "二十，三十",
                "五百万，一千万",
            ),
            *("第一，一定去", "我讲三点，一是安全", "五十，年底再说", "一百，年轻人", "三、五、七"),
            *(
                "一、二、三年级",
                "万一，没来",
                "百分之五，百分之百",
                "早上，十点开会",
                "好，千万别去",
            ),
        ],
    )
    def test_numbers_said_one_after_the_other_are_divided(self, line: str) -> None:
        assert placed(line) == line

    @pytest.mark.parametrize(
        ("wanted", "stands"),
        [
            ("三，五，七", "三五七"),  # only 、 makes a list of digits
            ("三、五七", "三五七"),  # and only at every place
            ("二、零、二、四", "二零二四"),
            ("三、五个", "三五个"),
            ("一、三、五点", "一三五点"),
            ("一、二、三、四号", "一二三四号"),
            ("七、五、三", "七五三"),
        ],
    )
    def test_digits_are_one_number_unless_they_are_clearly_a_list(
        self, wanted: str, stands: str
    ) -> None:
        assert placed(wanted) == stands

    @pytest.mark.parametrize(
        ("wanted", "stands"),
        [
            ("A, P, P 好", "A P P好"),
            ("A、B、C 都行", "A、B、C都行"),
            ("A、P、P 好", "A P P好"),
            ("因，为", "因为"),
            ("我，们走", "我们走"),
            ("虽，然后来，走了", "虽然后来，走了"),
            ("虽然，后来走了", "虽然，后来走了"),
            ("中，/英文", "中/英文"),
        ],
    )
    def test_never_inside_an_acronym_or_a_common_word(self, wanted: str, stands: str) -> None:
        assert placed(wanted) == stands

    @pytest.mark.parametrize(
        "line", ["好吗", "你们", "我的", "走了", "走吧", "看着", "什么", "他呢"]
    )
    def test_never_before_a_particle(self, line: str) -> None:
        assert placed(f"{line[0]}，{line[1]}") == line

    @pytest.mark.parametrize("line", ["好，了解", "好，的确", "别，着急", "去，吧台", "对，了不起"])
    def test_words_that_begin_like_a_particle_begin_a_clause(self, line: str) -> None:
        assert placed(line) == line

    @pytest.mark.parametrize(
        ("wanted", "moved", "dropped"),
        [
            ("三百，五十来了", "三百五十，来了", "三百五十来了"),
            ("你好。吗走", "你好吗。走", "你好吗走"),
            ("我，们走", "我们，走", "我们走"),
            ("中，/英好", "中/英，好", "中/英好"),
            ("三、五好", "三五好", "三五好"),
        ],
    )
    def test_a_forbidden_mark_moves_where_the_model_is_in_doubt(
        self, wanted: str, moved: str, dropped: str
    ) -> None:
        assert placed(wanted, nothing=0.4) == moved
        assert placed(wanted, nothing=0.9) == dropped

    def test_a_mark_of_its_own_is_kept_where_another_would_move_to(self) -> None:
        assert placed("三，百。来了") == "三百。来了"

    def test_protected_ranges_are_not_divided(self) -> None:
        assert placed("去张，江高，科上班", protected=[(1, 4)]) == "去张江高科上班"
        assert placed("去，张江高科，上班", protected=[(1, 4)]) == "去，张江高科，上班"
        assert placed("三、五、七", protected=[(0, 2)]) == "三五七"

    def test_ranges_outside_of_the_text_are_ignored(self) -> None:
        assert placed("好，走", protected=[(-3, 0), (1, 9)]) == "好，走"


class TestChoice:
    def test_the_last_token_of_a_closed_text_ends_a_sentence(self) -> None:
        for wanted, stands in [
            ("走了", "走了。"),
            ("走了，", "走了。"),
            ("走吗？", "走吗？"),
            ("走吧！", "走吧！"),
            ("OK", "OK."),
            ("really?", "really?"),
            ("用 OK", "用OK。"),
        ]:
            assert placed(wanted, closed=True) == stands

    def test_the_best_sentence_end_closes_even_if_a_comma_scores_better(self) -> None:
        tokens = tokens_from_pieces([TimedPiece("走吗", 0, 400, 0.9)])
        scores = confident(["", "，"])
        scores[1, MARKS.index("？")] = -1.0
        assert place_marks(tokens, scores, closed=True) == ("", "？")

    def test_an_open_text_goes_on(self) -> None:
        assert placed("走了") == "走了"
        assert placed("走了，") == "走了，"

    @pytest.mark.parametrize(
        ("wanted", "stands"),
        [
            ("hello，world。", "hello, world."),
            ("我说hello，world。", "我说hello, world。"),
            ("他说OK，然后走了。", "他说OK，然后走了。"),
            ("有iPhone、iPad", "有iPhone、iPad"),
            ("apples、pears", "apples, pears"),
            ("很好。Thank you。好的", "很好。Thank you。好的"),
            ("很好。Thank you。Bye。", "很好。Thank you. Bye."),
        ],
    )
    def test_latin_text_gets_latin_marks(self, wanted: str, stands: str) -> None:
        assert placed(wanted, closed=wanted[-1] in "。") == stands

    def test_no_tokens_no_marks(self) -> None:
        assert place_marks([], np.zeros((0, len(MARKS)), np.float32), closed=True) == ()

    def test_scores_must_fit_the_tokens(self) -> None:
        tokens = tokens_from_pieces([TimedPiece("走了", 0, 400, 0.9)])
        with pytest.raises(UsageError, match=r"\(2, 6\)"):
            place_marks(tokens, np.zeros((2, 6), np.float32), closed=True)

    def test_scores_that_are_no_numbers_give_no_marks(self) -> None:
        tokens = tokens_from_pieces([TimedPiece("走了", 0, 400, 0.9)])
        scores = np.full((2, len(MARKS)), np.nan, np.float32)
        assert place_marks(tokens, scores, closed=True) == ("", "。")

    @given(
        text=st.text("三五百十零点的吗我们因为，。AB 12", max_size=30),
        wanted=st.lists(st.sampled_from(MARKS), min_size=30, max_size=30),
        closed=st.booleans(),
    )
    def test_always_one_known_mark_for_each_token(
        self, text: str, wanted: list[str], closed: bool
    ) -> None:
        tokens = tokens_from_pieces([TimedPiece(text, 0, 1000, 0.9)])
        marks = place_marks(tokens, confident(wanted[: len(tokens)]), closed=closed)
        assert len(marks) == len(tokens)
        assert set(marks) <= {*MARKS, *",.?!;:"}
        if tokens and closed:
            assert marks[-1] in {*"。？！.?!"}


class TestPunctuator:
    def tokens(self) -> tuple[Token, ...]:
        return (
            Token("好", 0, 200, 0.9),
            Token("走", 700, 900, 0.9),
            Token("了", 900, 1100, 0.9, "，"),
        )

    def test_the_model_hears_the_silence_between_tokens(self) -> None:
        model = After({"好": "，"})
        assert Punctuator(model).marks(self.tokens(), closed=True) == ("，", "", "。")
        assert model.words == ["好", "走", "了"]
        assert model.pauses_ms is not None
        assert model.pauses_ms[:2] == [500, 0]

    def test_times_that_are_only_guessed_do_not_count(self) -> None:
        model = After({})
        assert Punctuator(model).marks(self.tokens(), closed=False, known_pauses=False) == ("",) * 3
        assert model.pauses_ms is None

    def test_what_was_said_before_is_read_and_gets_no_marks(self) -> None:
        model = After({"对": "。", "好": "，"})
        before = (Token("对", -500, -400, 0.9),)
        marks = Punctuator(model).marks(self.tokens(), context=before, closed=False)
        assert marks == ("，", "", "")
        assert model.words == ["对", "好", "走", "了"]
        assert model.pauses_ms is not None
        assert model.pauses_ms[:3] == [400, 500, 0]

    def test_a_number_goes_on_after_what_was_said_before(self) -> None:
        model = OneMark("，")
        before = (Token("三", 0, 100, 0.9), Token("百", 100, 200, 0.9))
        now = (Token("五", 200, 300, 0.9), Token("十", 300, 400, 0.9), Token("来", 400, 500, 0.9))
        assert Punctuator(model).marks(now, context=before, closed=True) == ("", "，", "。")

    def test_protected_ranges_count_from_the_first_new_token(self) -> None:
        before = (Token("对", -500, -400, 0.9),)
        marks = Punctuator(OneMark("，")).marks(
            self.tokens(), protected=[(0, 1)], context=before, closed=False
        )
        assert marks == ("", "", "，")

    def test_no_tokens_no_marks(self) -> None:
        model = After({})
        assert Punctuator(model).marks((), context=self.tokens(), closed=True) == ()

    def test_a_model_that_fails_is_heard_of(self) -> None:
        class Broken:
            name = "broken"

            def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> np.ndarray:
                raise NormalizationError("The network failed", reason="broken")

        with pytest.raises(NormalizationError, match="The network failed"):
            Punctuator(Broken()).marks(self.tokens(), closed=True)


class TestPunctuateText:
    @pytest.mark.parametrize(
        ("line", "written"),
        [
            ("", ""),
            ("  ", "  "),
            ("。。", ""),
            ("好", "好。"),
            ("好，走。吗", "好走吗。"),
            ("Yes", "Yes."),
            ("价格3.5元，10:30到。", "价格3.5元10:30到。"),
            ("10：30开会", "10：30开会。"),
            ("U.S.A. is big", "U.S.A is big."),
            ("见https://a.com/x?y=1,2。", "见https://a.com/x?y=1,2。"),
            ("打开C:\\x.txt吧", "打开C:\\x.txt吧。"),
            ("生成 .txt 文件", "生成 .txt 文件。"),
            ("看《你好，李焕英》", "看《你好，李焕英》。"),
            ("他来了……", "他来了……"),
            ("他来了——", "他来了——"),
            ("迈克·乔丹", "迈克·乔丹。"),
            ("好👍", "好👍。"),
            ("A,B", "A B."),
            ("他（小王）", "他（小王）。"),
        ],
    )
    def test_only_the_marks_of_a_line_change(self, line: str, written: str) -> None:
        assert punctuate_text(After({}), line) == written

    @pytest.mark.parametrize(
        ("line", "marks", "written"),
        [
            ("他说“你好”然后走", {"好": "，"}, "他说“你好”，然后走。"),
            ("他说“你好”", {}, "他说“你好。”"),
            ("他问“去吗”", {"吗": "？"}, "他问“去吗？”"),
            ("“去吗”他问", {"吗": "？"}, "“去吗？”他问。"),
            ("所谓“好”走", {"好": "。"}, "所谓“好”。走。"),
            ('他说"走"', {}, '他说"走。"'),
            ('所谓"好"走', {"好": "，", "谓": "："}, '所谓："好"，走。'),
            ("他（小王）走", {"他": "，", "王": "，"}, "他，（小王），走。"),
            ("好 走", {"好": "，"}, "好，走。"),
            ("好 -5", {"好": "，"}, "好， -5。"),
            ("hello world", {"hello": "，"}, "hello, world."),
            ("用 hello 好", {"用": "：", "hello": "，"}, "用：hello，好。"),
            ("迈克·乔丹", {"克": "，"}, "迈克·乔丹。"),
            ("看《你好》走", {"你": "，", "好": "，"}, "看《你好》，走。"),
        ],
    )
    def test_marks_stand_beside_quotes_and_spaces_as_usual(
        self, line: str, marks: dict[str, str], written: str
    ) -> None:
        assert punctuate_text(After(marks), line) == written

    def test_addresses_are_one_word_for_the_model(self) -> None:
        model = After({})
        punctuate_text(model, "看 https://a.com/b?c 吧")
        assert model.words == ["看", "https://a.com/b?c", "吧"]

    def test_a_long_line_is_one_text(self) -> None:
        model = After({"好": "，"})
        assert punctuate_text(model, "好走了" * 2000) == "好，走了" * 2000 + "。"
        assert len(model.words) == 6000

    @given(st.text(max_size=60))
    def test_any_line_keeps_what_is_no_mark(self, text: str) -> None:
        written = punctuate_text(ByWord(), text)
        assert _unmarked(written) == _unmarked(text)

    @given(
        st.text(
            "三百零我们的吗好，。：“”《》\"'（)…·— \u200d\u0301.-,:?/ab1290é£😀🏻\t", max_size=40
        )
    )
    def test_marks_of_a_model_that_reads_words_stay_when_written_again(self, text: str) -> None:
        once = punctuate_text(ByWord(), text)
        assert _unmarked(once) == _unmarked(text)
        assert punctuate_text(ByWord(), once) == once
        assert "".join(strip_marks(once).split()) == "".join(strip_marks(text).split())


def _unmarked(text: str) -> str:
    return "".join(char for char in text if char not in REMOVED and not char.isspace())


class OneAtATime:
    """A model that notices a second caller: it waits a moment for one to come in."""

    name = "one"

    def __init__(self) -> None:
        self.met = threading.Barrier(2)
        self.crowded = False

    def score(self, words: Sequence[str], pauses_ms: Sequence[int] | None) -> Float32:
        del pauses_ms
        try:
            self.met.wait(timeout=0.2)
            self.crowded = True
        except threading.BrokenBarrierError:
            self.met.reset()
        return np.zeros((len(words), len(MARKS)), np.float32)


def test_jobs_that_share_a_model_take_turns() -> None:
    model = OneAtATime()
    punctuator = Punctuator(model)
    tokens = [Token("好", 0, 100, 0.9)]
    jobs = [
        threading.Thread(target=lambda: punctuator.marks(tokens, closed=True)) for _ in range(2)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert not model.crowded
