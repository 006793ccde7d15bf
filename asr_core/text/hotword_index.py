"""Where a hotword may stand in a token list: by sound, and literally.

Both searches take time linear in the text: a look into a table for each token, and a closer look
only where the first two sounds of a word, or its last two, fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from asr_core.results import Token
from asr_core.text.hotword_atoms import Atom, atoms_of, atoms_of_word, breaks_after
from asr_core.text.pinyin import usual_syllables

LONG_WORD = 4
"""A word of so many atoms may have one syllable that sounds quite different."""


@dataclass(frozen=True, slots=True)
class Sound:
    """How a run of tokens differs from a hotword.

    Attributes:
        first_token, last_token: inclusive.
        word: index into the hotwords.
        alike: atoms that sound the same but are written otherwise.
        rare: those of them for which a less usual reading had to be taken.
        fuzzy: atoms that differ by a fuzzy pair.
        other: syllables that sound different: none, or one in a long word.
        changed: tokens that hold an atom that is written otherwise.
    """

    first_token: int
    last_token: int
    word: int
    alike: int
    rare: int
    fuzzy: int
    other: int
    changed: tuple[int, ...]


class Text:
    """A token list taken apart into atoms."""

    def __init__(self, tokens: Sequence[Token], fuzzy: frozenset[str]) -> None:
        self.tokens = tokens
        self.breaks = breaks_after(tokens)
        self.atoms: list[Atom] = []
        self.token_of: list[int] = []
        self.first_atom: list[int] = []
        known: dict[str, tuple[Atom, ...]] = {}
        for index, token in enumerate(tokens):
            atoms = known.get(token.text)
            if atoms is None:
                atoms = known[token.text] = atoms_of(token.text, fuzzy)
            self.first_atom.append(len(self.atoms))
            self.atoms.extend(atoms)
            self.token_of.extend([index] * len(atoms))
        self.first_atom.append(len(self.atoms))

    def run(self, first_atom: int, count: int) -> tuple[int, int] | None:
        """The tokens that hold exactly these atoms, unless something parts them."""
        end = first_atom + count
        first, last = self.token_of[first_atom], self.token_of[end - 1]
        if self.first_atom[first] != first_atom or self.first_atom[last + 1] != end:
            return None
        return None if any(self.breaks[first:last]) else (first, last)


class SoundIndex:
    """Finds runs of tokens that sound like a word. Immutable after construction."""

    def __init__(self, words: Sequence[str], fuzzy: frozenset[str]) -> None:
        self._atoms = [atoms_of_word(word, fuzzy) for word in words]
        self._places: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for number, atoms in enumerate(self._atoms):
            if len(atoms) < 2:
                continue
            offsets = {0, len(atoms) - 2} if len(atoms) >= LONG_WORD else {0}
            for offset in sorted(offsets):
                for pair in product(atoms[offset].keys, atoms[offset + 1].keys):
                    self._places.setdefault(pair, []).append((number, offset))

    def find(self, text: Text) -> Iterator[Sound]:
        """Every run that sounds like a word or nearly so, also those that are written like it."""
        if not self._places:
            return
        seen: set[tuple[int, int]] = set()
        for place in range(len(text.atoms) - 1):
            for pair in product(text.atoms[place].keys, text.atoms[place + 1].keys):
                for word, offset in self._places.get(pair, ()):
                    start = place - offset
                    if (start, word) not in seen:
                        seen.add((start, word))
                        sound = self._compare(text, start, word)
                        if sound is not None:
                            yield sound

    def _compare(self, text: Text, start: int, word: int) -> Sound | None:
        atoms = self._atoms[word]
        if start < 0 or start + len(atoms) > len(text.atoms):
            return None
        allowed = 1 if len(atoms) >= LONG_WORD else 0
        for place, mine in enumerate(atoms, start=start):
            if mine.keys.isdisjoint(text.atoms[place].keys):
                allowed -= 1
                if allowed < 0:
                    return None
        run = text.run(start, len(atoms))
        if run is None or self._cuts_number(text, start, atoms):
            return None
        return self._differences(text, start, word, run)

    def _differences(self, text: Text, start: int, word: int, run: tuple[int, int]) -> Sound | None:
        alike = rare = fuzzy = other = 0
        changed: dict[int, None] = {}
        for place, mine in enumerate(self._atoms[word], start=start):
            theirs = text.atoms[place]
            if mine.same(theirs):
                continue
            if theirs.text.isdigit() and not mine.is_numeral:
                return None
            changed[text.token_of[place]] = None
            if common := [s for s in theirs.sounds if s in mine.sounds]:
                alike += 1
                rare += not any(_is_usual(sound, mine, theirs) for sound in common)
            elif not mine.keys.isdisjoint(theirs.keys):
                fuzzy += 1
            elif mine.is_syllable and theirs.is_syllable:
                other += 1
            else:
                return None
        return Sound(*run, word, alike, rare, fuzzy, other, tuple(changed))

    @staticmethod
    def _cuts_number(text: Text, start: int, atoms: Sequence[Atom]) -> bool:
        """Whether a digit at an edge of the word is part of a longer number."""
        edges = ((0, start - 1), (-1, start + len(atoms)))
        return any(
            atoms[own].text.isdigit()
            and 0 <= beside < len(text.atoms)
            and text.atoms[beside].is_numeral
            for own, beside in edges
        )


def _is_usual(sound: str, meant: Atom, heard: Atom) -> bool:
    usual = usual_syllables(heard.text) if heard.is_syllable else heard.sounds
    return sound in usual and (sound == meant.sounds[0] or sound in usual_syllables(meant.text))


class PhraseIndex:
    """Finds texts where they stand token by token, the longest first. Immutable."""

    def __init__(self, phrases: Sequence[str], *, folded: bool) -> None:
        """Args:
        phrases: of two equal ones the first counts.
        folded: whether case makes no difference.
        """
        self._folded = folded
        self._numbers: dict[str, int] = {}
        self._lengths: dict[str, list[int]] = {}
        for number, phrase in enumerate(phrases):
            key = self._fold(phrase)
            if key and self._numbers.setdefault(key, number) == number:
                lengths = self._lengths.setdefault(key[0], [])
                if len(key) not in lengths:
                    lengths.append(len(key))
        for lengths in self._lengths.values():
            lengths.sort(reverse=True)

    def find(
        self, tokens: Sequence[Token], breaks: Sequence[bool], *, within: Sequence[bool] = ()
    ) -> Iterator[tuple[int, int, int]]:
        """Disjoint runs ``(first_token, last_token, phrase)`` from left to right.

        A mark inside a run prevents it. ``within`` names tokens that may not be touched.
        """
        if not self._lengths:
            return
        keys = [self._fold(token.text) for token in tokens]
        index = 0
        while index < len(tokens):
            found = self._longest(tokens, keys, breaks, within, index)
            if found is not None:
                yield index, *found
                index = found[0]
            index += 1

    def _longest(
        self,
        tokens: Sequence[Token],
        keys: list[str],
        breaks: Sequence[bool],
        within: Sequence[bool],
        first: int,
    ) -> tuple[int, int] | None:
        lengths = self._lengths.get(keys[first][:1])
        if not lengths:
            return None
        joined, best = "", None
        for last in range(first, len(tokens)):
            if within and within[last]:
                break
            joined += keys[last]
            if len(joined) > lengths[0]:
                break
            if len(joined) in lengths and joined in self._numbers:
                best = last, self._numbers[joined]
            if breaks[last] or tokens[last].mark:
                break
        return best

    def _fold(self, text: str) -> str:
        joined = "".join(text.split())
        return joined.casefold() if self._folded else joined
