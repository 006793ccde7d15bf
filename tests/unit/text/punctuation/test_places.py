"""Where marks may stand, against material that was not written for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.text.punctuation.places import allowed_places
from asr_core.text.tokens import TimedPiece, tokens_from_pieces

CASES = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "itn" / "cases.tsv"


def test_no_mark_divides_what_the_number_rules_write_as_one() -> None:
    if not CASES.is_file():
        pytest.skip("the cases of the number rules are not beside the checkout")
    normalizer = RuleNormalizer()
    divided, numbers = [], 0
    for line in CASES.read_text(encoding="utf-8").splitlines()[1:]:
        spoken = line.split("\t")[0]
        tokens = tokens_from_pieces([TimedPiece(spoken, 0, 1000, 0.9)])
        allowed = allowed_places(tokens)
        for span in normalizer.spans(tokens):
            numbers += 1
            inside = range(span.first_token, span.last_token)
            if any(allowed[index] and not tokens[index].mark for index in inside):
                divided.append((spoken, span.written))
    assert numbers > 200
    assert divided == []
