"""A short run of the fuzzer: broken recordings of every format end in a result or a typed error."""

from __future__ import annotations

from benchmarks import fuzz


def test_broken_files_neither_crash_nor_hang_nor_leak():
    report = fuzz.run(300, seed=20_251, seconds=120)
    assert report.failures == []
    assert report.files == 300
    assert report.outcomes["decoded"] > 50
    assert report.outcomes["damaged"] > 20
    assert report.outcomes["not_audio"] > 20


def test_a_seed_gives_the_same_files_again():
    first, again, other = (fuzz.Corpus(seed) for seed in (3, 3, 4))
    made = [first.broken(number) for number in range(40)]
    assert made == [again.broken(number) for number in range(40)]
    assert made != [other.broken(number) for number in range(40)]
    assert len({content for _, content in made}) > 35
