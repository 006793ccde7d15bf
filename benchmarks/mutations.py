"""Ways to break a file, each drawn from a random generator so that a seed repeats it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Random = np.random.Generator
Mutation = Callable[[Random, bytes, bytes], bytes]

_HEADER_BYTES = 256
_LONGEST_RUN_BYTES = 4_096
_MOST_BYTES = 1_000_000
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def mutate(random: Random, content: bytes, other: bytes) -> bytes:
    """Break a file in one to three ways.

    Args:
        content: the file.
        other: a file of another format, for splices.
    """
    for index in random.integers(0, len(MUTATIONS), random.integers(1, 4)):
        content = MUTATIONS[index](random, content, other)[:_MOST_BYTES]
    return content


def flip_bits(random: Random, content: bytes, _other: bytes) -> bytes:
    """1 to 64 bits, half of the time in the header alone."""
    data = bytearray(content)
    reach = min(len(data), _HEADER_BYTES) if random.integers(2) else len(data)
    for place in random.integers(0, reach, 2 ** random.integers(0, 7)) if reach else ():
        data[place] ^= 1 << random.integers(8)
    return bytes(data)


def overwrite_run(random: Random, content: bytes, _other: bytes) -> bytes:
    """A run of noise, of zeros or of ones."""
    start, length = _span(random, content)
    filling = random.integers(3)
    run = random.bytes(length) if not filling else bytes([0, 0xFF][filling - 1 :][:1]) * length
    return content[:start] + run + content[start + length :]


def truncate(random: Random, content: bytes, _other: bytes) -> bytes:
    return content[: random.integers(0, len(content) + 1)]


def delete_chunk(random: Random, content: bytes, _other: bytes) -> bytes:
    start, length = _span(random, content)
    return content[:start] + content[start + length :]


def repeat_chunk(random: Random, content: bytes, _other: bytes) -> bytes:
    start, length = _span(random, content)
    chunk = content[start : start + length]
    return content[:start] + chunk * int(random.integers(2, 6)) + content[start + length :]


def shuffle_chunks(random: Random, content: bytes, _other: bytes) -> bytes:
    """Pieces of equal length in another order; the first stays half of the time."""
    size = int(2 ** random.integers(4, 13))
    chunks = [content[start : start + size] for start in range(0, len(content), size)]
    kept = chunks[: random.integers(2)]
    rest = chunks[len(kept) :]
    return b"".join([*kept, *(rest[index] for index in random.permutation(len(rest)))])


def set_field(random: Random, content: bytes, _other: bytes) -> bytes:
    """A number at the edge of its range, in either byte order, mostly in the header."""
    data = bytearray(content)
    width = int(2 ** random.integers(0, 4))
    reach = _HEADER_BYTES if random.integers(4) else len(data)
    room = min(len(data), reach) - width
    if room > 0:
        value = _EDGES[random.integers(len(_EDGES))] % (1 << 8 * width)
        order = "big" if random.integers(2) else "little"
        place = int(random.integers(room))
        data[place : place + width] = value.to_bytes(width, order)
    return bytes(data)


def splice(random: Random, content: bytes, other: bytes) -> bytes:
    """The start of one format with the end of another."""
    return content[: random.integers(len(content) + 1)] + other[random.integers(len(other) + 1) :]


def insert_other(random: Random, content: bytes, other: bytes) -> bytes:
    place = random.integers(len(content) + 1)
    start, length = _span(random, other)
    return content[:place] + other[start : start + length] + content[place:]


def prepend_noise(random: Random, content: bytes, _other: bytes) -> bytes:
    return random.bytes(int(random.integers(1, 600))) + content


MUTATIONS: Sequence[Mutation] = (
    flip_bits,
    flip_bits,
    overwrite_run,
    truncate,
    delete_chunk,
    repeat_chunk,
    shuffle_chunks,
    set_field,
    set_field,
    splice,
    insert_other,
    prepend_noise,
)


def _span(random: Random, content: bytes) -> tuple[int, int]:
    """Start and length of a run, short ones as likely as long ones."""
    if not content:
        return 0, 0
    start = int(random.integers(len(content)))
    longest = min(len(content) - start, _LONGEST_RUN_BYTES)
    return start, min(int(2 ** random.uniform(0, 12)), longest)
