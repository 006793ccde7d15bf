"""How many misheard hotwords the corrector finds, and what it changes where there are none.

Real texts are cut into tokens; hotwords in them are rewritten with characters that sound alike.

    .venv/bin/python -m benchmarks.hotwords [--texts FILE ...] [--words 100] [--marks]
        [--verbose 20]

``--texts`` takes ``.tsv`` files with a column ``text``, ``transcript`` or ``spoken``, and
``.txt.xz`` files of one paragraph a line; the default is what lies beside the checkout and has no
part in the corrector's statistic of ordinary text.

Hotwords are of three kinds: ``term`` (stands in quotes or title marks), ``word`` (of a phrase
dictionary, 2 to 4 characters) and ``name`` (a surname with a given name, put in place of 他 or 她).
Rewritten are ``homophone`` (same syllables, any tone), ``near`` (also the fuzzy pairs), ``slip``
(one other syllable in a word of four or more) and ``likely`` (of 30 homophones the one whose
character pairs are most frequent: ordinary words where there are some).

Confidence is ``lowered`` (rewritten characters 0.2 to 0.9, others 0.75 to 1 with one in twenty as
low as the rewritten) or ``none`` (all 1).
"""

from __future__ import annotations

import argparse
import csv
import lzma
import math
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from asr_core.results import Token, WrittenSpan
from asr_core.text.hotwords import FUZZY_DEFAULT, HotwordCorrector
from asr_core.text.pinyin import fold_syllable, is_han, readings, usual_readings
from asr_core.text.tokens import TimedPiece, tokens_from_pieces
from benchmarks.machine import describe_machine

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TEXTS = ("punctuation/test.tsv", "speech/clips.tsv", "speech/meeting.tsv", "speech/odd.tsv")
GROUP = 10
"""Paragraphs of one document."""

SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡"
)
GIVEN = (
    "伟芳娜秀英敏静丽强磊军洋勇艳杰娟涛明超兰霞平刚桂文辉鑫宇博浩轩梓涵欣怡雨晨思琪俊熙子墨"
    "佳雪婷建国志远晓彤海燕春梅永康振华嘉豪一凡若曦泽楷诗"
)
_QUOTED = re.compile(r"[《“「『]([一-鿿]{2,8})[》”」』]")
_PRONOUN = re.compile(r"(?<![其吉])[他她](?!们)")


@dataclass(frozen=True)
class Case:
    """One hotword that was rewritten: its tokens, inclusive."""

    first: int
    last: int
    word: str
    kind: str
    change: str


@dataclass(frozen=True)
class Document:
    words: tuple[str, ...]
    tokens: tuple[Token, ...]
    cases: tuple[Case, ...]


class Homophones:
    """Characters that sound alike, chosen by how often they are written."""

    def __init__(self, paragraphs: list[str], chance: random.Random) -> None:
        self._chance = chance
        counts = Counter(char for text in paragraphs for char in text if is_han(char))
        self._by_sound: dict[str, list[tuple[str, float]]] = defaultdict(list)
        self._by_key: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for char, count in sorted(counts.items()):
            for sound in readings(char)[:1]:
                self._by_sound[sound].append((char, count**0.5))
                self._by_key[fold_syllable(sound, FUZZY_DEFAULT)].append((char, count**0.5))
        self._all = [(char, count**0.5) for char, count in sorted(counts.items())]
        self._pairs = Counter(a + b for text in paragraphs for a, b in pairwise(text))

    def rewrite(self, word: str, change: str) -> str | None:
        """The word in other characters; ``None`` where there are none."""
        if change == "likely":
            tries = {self.rewrite(word, "homophone") for _ in range(30)} - {None}
            return max(sorted(filter(None, tries)), key=self._likeness, default=None)
        sounds = usual_readings(word)
        for _ in range(20):
            slip = self._chance.randrange(len(word)) if change == "slip" else -1
            written = ""
            for place, (char, sound) in enumerate(zip(word, sounds, strict=True)):
                if place == slip:
                    written += self._pick(self._all, char)
                elif self._chance.random() < 0.3 or (change == "slip" and place != slip):
                    written += char
                elif change == "near" and self._chance.random() < 0.6:
                    key = fold_syllable(sound, FUZZY_DEFAULT)
                    other = [p for p in self._by_key[key] if readings(p[0])[0] != sound]
                    written += self._pick(other or self._by_sound[sound], char)
                else:
                    written += self._pick(self._by_sound[sound], char)
            if written != word:
                return written
        return None

    def _likeness(self, text: str) -> float:
        return sum(math.log(self._pairs[a + b] + 0.1) for a, b in pairwise(text))

    def _pick(self, choices: list[tuple[str, float]], char: str) -> str:
        others = [(other, weight) for other, weight in choices if other != char]
        if not others:
            return char
        return self._chance.choices([o for o, _ in others], [w for _, w in others])[0]


def read_paragraphs(paths: list[Path]) -> list[str]:
    texts: list[str] = []
    for path in paths:
        if path.suffix == ".xz":
            with lzma.open(path, "rt", encoding="utf-8") as file:
                texts += [line.strip() for line in file][:4000]
            continue
        with path.open(encoding="utf-8", newline="") as file:
            first = file.readline().rstrip("\n").split("\t")
            names = [name for name in ("text", "transcript", "spoken") if name in first]
            column = first.index(names[0]) if names else 2
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
            texts += [row[column] for row in ([first] if not names else []) + rows]
    return [text for text in texts if len(text) >= 6]


def hotwords_of(paragraphs: list[str], chance: random.Random) -> dict[str, str]:
    """Some hotwords that stand in these paragraphs, with their kind."""
    from pypinyin.phrases_dict import phrases_dict

    text = "\n".join(paragraphs)
    terms = sorted(set(_QUOTED.findall(text)))
    words = sorted(
        {
            text[place : place + size]
            for size in (2, 3, 4)
            for place in range(len(text) - size)
            if text[place : place + size] in phrases_dict
        }
    )
    chosen = dict.fromkeys(chance.sample(words, min(7, len(words))), "word")
    chosen |= dict.fromkeys(chance.sample(terms, min(7, len(terms))), "term")
    return chosen


def make_name(chance: random.Random) -> str:
    return chance.choice(SURNAMES) + "".join(chance.sample(GIVEN, chance.choice((1, 2, 2))))


def with_name(text: str, name: str) -> str:
    return _PRONOUN.sub(name, text, count=1)


def tokens_of(text: str, *, marks: bool) -> tuple[Token, ...]:
    tokens = tokens_from_pieces([TimedPiece(text, 0, 200 * len(text), 1.0)])
    return tokens if marks else tuple(replace(token, mark="") for token in tokens)


def tokens_after(piece: str, *, marks: bool) -> tuple[tuple[Token, ...], str]:
    """The tokens of a piece of text, and the mark that stands before them."""
    head, *tokens = tokens_of(f"甲{piece}", marks=marks)
    return tuple(tokens), head.mark


def rewritten(
    text: str, words: dict[str, str], change: str, sounds: Homophones, chance: random.Random
) -> tuple[str, list[tuple[str, str, str]]]:
    """The text with hotwords in other characters between control characters, to be found again."""
    pattern = re.compile("|".join(sorted(map(re.escape, words), key=len, reverse=True)))
    done: list[tuple[str, str, str]] = []

    def replaced(found: re.Match[str]) -> str:
        word = found.group()
        other = None
        if change != "slip" or len(word) >= 4:
            other = sounds.rewrite(word, change)
        if other is None or chance.random() < 0.1:
            return word
        done.append((word, other, words[word]))
        return f"\x02{other}\x03"

    return pattern.sub(replaced, text), done


def build_document(
    paragraphs: list[str],
    change: str,
    sounds: Homophones,
    distractors: list[str],
    size: int,
    chance: random.Random,
    marks: bool,
) -> Document:
    own = hotwords_of(paragraphs, chance)
    names = [make_name(chance) for _ in range(6)]
    texts = []
    for text in paragraphs:
        name = chance.choice(names)
        changed = with_name(text, name)
        if changed != text:
            own[name] = "name"
        texts.append(changed)
    words = list(own) + [word for word in distractors if word not in own][: size - len(own)]
    chance.shuffle(words)
    tokens: list[Token] = []
    cases: list[Case] = []
    for text in texts:
        line, done = rewritten(text, own, change, sounds, chance)
        pieces = re.split("\x02|\x03", line)
        for number, piece in enumerate(pieces):
            part, mark = tokens_after(piece, marks=marks)
            if mark and tokens:
                tokens[-1] = replace(tokens[-1], mark=mark)
            if number % 2:
                word, _, kind = done[number // 2]
                cases.append(Case(len(tokens), len(tokens) + len(part) - 1, word, kind, change))
            tokens += part
        if tokens:
            tokens[-1] = replace(tokens[-1], mark="。")
    return Document(tuple(words), timed(tokens), tuple(cases))


def timed(tokens: list[Token]) -> tuple[Token, ...]:
    return tuple(
        replace(token, start_ms=200 * place, end_ms=200 * place + 200)
        for place, token in enumerate(tokens)
    )


def with_confidence(document: Document, chance: random.Random) -> Document:
    wrong = {
        index
        for case in document.cases
        for index in range(case.first, case.last + 1)
        if document.tokens[index].text not in case.word
    }
    tokens = tuple(
        replace(
            token,
            confidence=chance.uniform(0.2, 0.9)
            if index in wrong or chance.random() < 0.05
            else chance.uniform(0.75, 1.0),
        )
        for index, token in enumerate(document.tokens)
    )
    return replace(document, tokens=tokens)


def changed_chars(tokens: tuple[Token, ...], span: WrittenSpan) -> int:
    heard = "".join(t.text for t in tokens[span.first_token : span.last_token + 1])
    if len(heard) != len(span.written):
        return max(len(heard), len(span.written))
    return sum(1 for old, new in zip(heard, span.written, strict=True) if old != new)


@dataclass
class Tally:
    cases: int = 0
    found: int = 0
    chars: int = 0
    changed: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        recall = f"recall {self.found / self.cases:.3f} of {self.cases:5d}  " if self.cases else ""
        return (
            f"{recall}changed elsewhere {100 * self.changed / max(self.chars, 1):.3f} % "
            f"of {self.chars} characters"
        )


def score(
    document: Document, tally: Tally, kinds: dict[str, Tally], show: list[str], threshold: float
) -> None:
    begin = time.perf_counter()
    corrector = HotwordCorrector(document.words, threshold=threshold)
    spans = corrector.spans(document.tokens)
    tally.seconds += time.perf_counter() - begin
    by_place = {(span.first_token, span.last_token): span for span in spans}
    tally.chars += len(document.tokens)
    for case in document.cases:
        span = by_place.pop((case.first, case.last), None)
        right = span is not None and span.written == case.word
        for part in (tally, kinds[f"{case.kind}/{len(case.word)}"]):
            part.cases += 1
            part.found += right
        if not right:
            show.append("missed " + excerpt(document, case.first, case.last, case.word))
    for (first, last), span in by_place.items():
        tally.changed += changed_chars(document.tokens, span)
        show.append("false  " + excerpt(document, first, last, span.written))


def excerpt(document: Document, first: int, last: int, word: str) -> str:
    def text(start: int, end: int) -> str:
        return "".join(token.text + token.mark for token in document.tokens[max(start, 0) : end])

    return f"{text(first - 8, first)}[{text(first, last + 1)}->{word}]{text(last + 1, last + 9)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, nargs="*", default=[SHARED / t for t in TEXTS])
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--marks", action="store_true", help="the recognizer writes marks")
    parser.add_argument("--verbose", type=int, default=0, help="so many examples a table")
    parser.add_argument("--limit", type=int, default=10**9, help="so many paragraphs")
    parser.add_argument("--seed", type=int, default=5)
    arguments = parser.parse_args()
    print(describe_machine())
    chance = random.Random(arguments.seed)  # noqa: S311 - figures that can be repeated
    paragraphs = read_paragraphs(arguments.texts)
    chance.shuffle(paragraphs)
    paragraphs = paragraphs[: arguments.limit]
    sounds = Homophones(paragraphs, chance)
    groups = [paragraphs[i : i + GROUP] for i in range(0, len(paragraphs), GROUP)]
    lists = [
        list(hotwords_of(group, chance)) + [make_name(chance) for _ in range(6)] for group in groups
    ]
    for change in ("homophone", "near", "slip", "likely", "absent"):
        documents = list(build_all(groups, lists, change, sounds, arguments, chance))
        for confidence in ("lowered", "none"):
            report(change, confidence, documents, arguments, chance)


def build_all(
    groups: list[list[str]],
    lists: list[list[str]],
    change: str,
    sounds: Homophones,
    arguments: argparse.Namespace,
    chance: random.Random,
) -> Iterator[Document]:
    for number, group in enumerate(groups):
        others = [w for other, words in enumerate(lists) if other != number for w in words]
        chance.shuffle(others)
        text = "\n".join(group)
        others = [word for word in dict.fromkeys(others) if word not in text]
        if change == "absent":
            tokens = [
                token for line in group for token in (*tokens_of(line, marks=arguments.marks),)
            ]
            yield Document(tuple(others[: arguments.words]), timed(tokens), ())
        else:
            yield build_document(
                group, change, sounds, others, arguments.words, chance, arguments.marks
            )


def report(
    change: str,
    confidence: str,
    documents: list[Document],
    arguments: argparse.Namespace,
    chance: random.Random,
) -> None:
    tally, kinds, show = Tally(), defaultdict[str, Tally](Tally), list[str]()
    for document in documents:
        if confidence == "lowered":
            document = with_confidence(document, chance)
        score(document, tally, kinds, show, arguments.threshold)
    print(f"{change:10s} {confidence:8s} {tally.line()}  {tally.seconds:.1f} s")
    if kinds and change != "absent":
        parts = (f"{k} {v.found / v.cases:.3f} ({v.cases})" for k, v in sorted(kinds.items()))
        print("   " + "  ".join(parts))
    chance.shuffle(show)
    for line in show[: arguments.verbose]:
        print("   " + line)


if __name__ == "__main__":
    main()
