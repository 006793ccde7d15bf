"""The user's own replacements: ``词 => 词`` lines of a file that is read again when it changes."""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from asr_core.text.itn.lexicon import Word, WordTrie
from asr_core.text.itn.line import Edit

logger = logging.getLogger(__name__)

_ARROW = "=>"
_PATTERN = "re:"
MAX_FILE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """A line of a rule file that cannot be used.

    Attributes:
        file: name of the file.
        line: number of the line, from 1; 0 when the whole file cannot be read.
        reason: English sentence.
    """

    file: str
    line: int
    reason: str


class RuleSet:
    """Parsed rules: words longest first, then patterns in the order of the file."""

    def __init__(
        self,
        words: dict[str, str] | None = None,
        patterns: tuple[tuple[re.Pattern[str], str], ...] = (),
        problems: tuple[RuleProblem, ...] = (),
    ) -> None:
        self._words = words or {}
        self._trie = WordTrie(Word(spoken) for spoken in self._words)
        self._patterns = patterns
        self.problems = problems

    def edits(self, text: str) -> list[Edit]:
        """Edits of one line, disjoint and in order. Equal text counts: it protects the word."""
        if not self._words and not self._patterns:
            return []
        found: list[Edit] = []
        at = 0
        while self._words and at < len(text):
            end = self._trie.end(text, at)
            if end > at:
                found.append(Edit(at, end, self._words[text[at:end]]))
            at = max(end, at + 1)
        for pattern, replacement in self._patterns:
            for match in pattern.finditer(text):
                begin, end = match.span()
                if begin < end and all(e.end <= begin or end <= e.begin for e in found):
                    found.append(Edit(begin, end, match.expand(replacement)))
        return sorted(found, key=lambda edit: edit.begin)


def parse_rules(text: str, name: str, *, allow_patterns: bool = False) -> RuleSet:
    """Read the lines of a rule file; a line that cannot be used becomes a problem.

    Args:
        text: lines ``词 => 词``; ``#`` starts a comment line; with ``allow_patterns`` also
            ``re: pattern => replacement``.
        name: of the file, for the problems.
        allow_patterns: whether regular expressions are switched on.
    """
    words: dict[str, str] = {}
    patterns: list[tuple[re.Pattern[str], str]] = []
    problems: list[RuleProblem] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip().removeprefix("\ufeff").strip()
        if not line or line.startswith("#"):
            continue
        spoken, arrow, written = (part.strip() for part in line.partition(_ARROW))
        if not arrow or not spoken or not written:
            problems.append(RuleProblem(name, number, "expected: spoken => written"))
        elif not spoken.startswith(_PATTERN):
            words[spoken] = written
        elif not allow_patterns:
            problems.append(RuleProblem(name, number, "regular expressions are switched off"))
        else:
            try:
                pattern = re.compile(spoken.removeprefix(_PATTERN).strip())
                _check_replacement(pattern, written)
                patterns.append((pattern, written))
            except (re.error, IndexError, OverflowError, RecursionError) as exc:
                problems.append(RuleProblem(name, number, f"not a regular expression: {exc}"))
    return RuleSet(words, tuple(patterns), tuple(problems))


def _check_replacement(pattern: re.Pattern[str], replacement: str) -> None:
    """Fail on a reference to a group that the pattern has not."""
    optional = re.compile(f"(?:{pattern.pattern})?", pattern.flags)
    match = optional.match("")
    if match is not None:
        match.expand(replacement)


class UserRules:
    """The rules of one file, read again when its time or size changes. Thread-safe.

    Args:
        path: the file; a missing one means no rules until it appears.
        allow_patterns: whether lines ``re: pattern => replacement`` are used.
    """

    def __init__(self, path: Path, *, allow_patterns: bool = False) -> None:
        self._path = path
        self._allow_patterns = allow_patterns
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._rules = RuleSet()

    def current(self) -> RuleSet:
        """The rules as the file has them now."""
        with self._lock:
            stamp = self._read_stamp()
            if stamp != self._stamp:
                self._stamp = stamp
                self._rules = self._load() if stamp is not None else RuleSet()
                for problem in self._rules.problems:
                    logger.warning(
                        "user rule ignored file=%s line=%d reason=%s",
                        problem.file,
                        problem.line,
                        problem.reason,
                    )
            return self._rules

    def _read_stamp(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except (OSError, ValueError):
            return None
        return status.st_mtime_ns, status.st_size

    def _load(self) -> RuleSet:
        name = self._path.name
        try:
            with self._path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError as exc:
            reason = f"cannot be read: {exc.strerror or exc}"
            return RuleSet(problems=(RuleProblem(name, 0, reason),))
        if len(data) > MAX_FILE_BYTES:
            reason = f"larger than {MAX_FILE_BYTES // 1024 // 1024} MB"
            return RuleSet(problems=(RuleProblem(name, 0, reason),))
        text = data.decode("utf-8", errors="replace")
        return parse_rules(text, name, allow_patterns=self._allow_patterns)
