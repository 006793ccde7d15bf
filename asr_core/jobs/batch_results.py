"""What a batch writes into its output folder, and what of it is there already.

Owns the choice of names. Two items of a batch never share a place, and a place that an item got
when it was found stays its own until its text is written, whichever of them ends first.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from asr_core.errors import BatchError
from asr_core.export.registry import export
from asr_core.jobs import outputs
from asr_core.jobs.batch_report import SUMMARY_KEY, SUMMARY_NAME
from asr_core.results import Transcript
from asr_core.store.batch_rows import BatchRow, Result
from asr_core.store.batches import BatchStore
from asr_core.store.rows import to_json
from asr_core.transcription.options import TranscribeOptions


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a batch, as far as names go.

    Attributes:
        path: below the source, with ``/``.
        key: what tells files of the batch apart.
        sha256: of its content.
        number: of its item; 0 before it has one.
    """

    path: str
    key: bytes
    sha256: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Places:
    """Where results are or go.

    Attributes:
        outputs: paths below the output folder, with ``/``.
        note: ``renamed`` when the usual name belongs to another file, else empty.
        is_done: they all lie there already, made in the same way.
    """

    outputs: tuple[str, ...]
    note: str = ""
    is_done: bool = False


class ResultWriter:
    """Chooses places and writes results; usable from any thread, one at a time.

    Args:
        store: knows which files are ours.
        vad: detector where the options name none; it decides over the text.
        locale: of what stands around the text in documents.
    """

    def __init__(self, store: BatchStore, vad: str, locale: str) -> None:
        self._store = store
        self._vad = vad
        self._locale = locale
        self._lock = threading.RLock()  # guards _claims and the choice of places
        self._claims: dict[str, dict[Path, bytes]] = {}

    def fingerprint(self, options: TranscribeOptions, model: str) -> str:
        """What a text depends on besides the recording."""
        chosen = {**asdict(options), "vad": options.vad or self._vad, "model": model}
        return outputs.hash_content(to_json(chosen).encode())

    def plan(self, batch: BatchRow, source: Source, model: str) -> Places:
        """Look for results of a file and keep places for those that are missing.

        Raises:
            BatchError: no name is free.
        """
        if batch.output is None:
            return Places(())
        with self._lock:
            valid = self._valid(batch, source, self.fingerprint(batch.options, model))
            missing = [name for name in batch.formats if name not in valid]
            if not missing:
                done = [valid[name].path.as_posix() for name in batch.formats]
                return Places(tuple(done), is_done=True)
            number, places = self._choose(batch, source, missing, _first(valid), {})
            return _places(batch, valid, places, number)

    def write(self, batch: BatchRow, source: Source, title: str, transcript: Transcript) -> Places:
        """Write the results that are missing.

        Raises:
            BatchError: the folder is ``missing``, ``not_writable`` or ``disk_full``.
            ExportError: a format cannot hold the transcript.
        """
        if batch.output is None:
            return Places(())
        settings = self.fingerprint(batch.options, transcript.model.name)
        with self._lock:
            valid = self._valid(batch, source, settings)
            missing = [name for name in batch.formats if name not in valid]
            contents = {
                name: export(transcript, name, title=title, locale=self._locale) for name in missing
            }
            while True:
                hashes = {name: outputs.hash_content(data) for name, data in contents.items()}
                number, places = self._choose(batch, source, missing, _first(valid), hashes)
                results = [
                    self._result(batch, source, settings, name, places[name], number, hashes[name])
                    for name in missing
                ]
                if self._put(batch.output, results, contents):
                    return _places(batch, valid, places, number)

    def forget(self, batch_id: str) -> None:
        """A batch has ended; its places are on the disk now."""
        with self._lock:
            self._claims.pop(batch_id, None)

    def input_key(self, batch: BatchRow, key: bytes) -> bytes:
        """What tells a recording apart from those of other batches."""
        return b"sent:" + key if batch.source is None else os.fsencode(batch.source) + b"/" + key

    def _valid(self, batch: BatchRow, source: Source, settings: str) -> dict[str, Result]:
        """Results that need not be written again, by format."""
        if batch.on_existing != "skip" or batch.output is None:
            return {}
        found = self._store.results(batch.output, input_key=self.input_key(batch, source.key))
        return {
            one.format: one
            for one in found
            if (one.sha256, one.settings) == (source.sha256, settings)
            and (batch.output / one.path).is_file()
        }

    def _choose(
        self,
        batch: BatchRow,
        source: Source,
        formats: Sequence[str],
        first: int,
        hashes: Mapping[str, str],
    ) -> tuple[int, dict[str, Path]]:
        """The first number with which all names are free; they belong to the file from then on."""
        claims = self._claims_of(batch)
        for number in outputs.numbers(first):
            places = {name: outputs.place_of(source.path, name, number) for name in formats}
            if all(claims.get(place, source.key) == source.key for place in places.values()) and (
                all(
                    self._is_free(batch, source, place, hashes.get(name, ""))
                    for name, place in places.items()
                )
            ):
                claims.update(dict.fromkeys(places.values(), source.key))
                return number, places
        raise BatchError(
            f"no name is free for {source.path}",
            path=source.path,
            reason="not_writable",
            cause="names",
        )

    def _is_free(self, batch: BatchRow, source: Source, place: Path, content: str) -> bool:
        if batch.output is None:
            return False
        known = self._store.result_at(batch.output, place)
        key = self.input_key(batch, source.key)
        claim = outputs.Claim(key, batch.id, source.number, batch.on_existing)
        return outputs.may_take(batch.output / place, known, claim, content)

    def _claims_of(self, batch: BatchRow) -> dict[Path, bytes]:
        """Places of the batch, by item; read from the store once."""
        if batch.id not in self._claims:
            claims = {Path(SUMMARY_NAME): SUMMARY_KEY}
            for row in self._store.items(batch.id):
                claims.update(dict.fromkeys(map(Path, row.item.outputs), row.source_key))
            self._claims[batch.id] = claims
        return self._claims[batch.id]

    def _result(
        self,
        batch: BatchRow,
        source: Source,
        settings: str,
        format_name: str,
        place: Path,
        number: int,
        content: str,
    ) -> Result:
        # Until the new file has its name, the old one lies there and is still ours.
        held = outputs.hash_file((batch.output or Path()) / place)
        return Result(
            path=place,
            input=self.input_key(batch, source.key),
            format=format_name,
            number=number,
            sha256=source.sha256,
            settings=settings,
            hashes=tuple(dict.fromkeys(one for one in (content, held) if one)),
            batch_id=batch.id,
            item=source.number,
        )

    def _put(self, folder: Path, results: Sequence[Result], contents: Mapping[str, bytes]) -> bool:
        """Write files; false when another program took one of the places meanwhile."""
        parts: list[Path] = []
        new: list[Path] = []
        try:
            parts.extend(
                outputs.stage(folder, folder / one.path, contents[one.format]) for one in results
            )
            old = [os.path.lexists(folder / one.path) for one in results]
            self._store.claim(folder, results)
            for one, part, replace in zip(results, parts, old, strict=True):
                if not outputs.publish(part, folder / one.path, replace=replace):
                    self._store.disclaim(folder, one.path)
                    _remove(new)
                    return False
                if not replace:
                    new.append(folder / one.path)
        finally:
            for part in parts:
                outputs.discard(part)
        return True


def _first(valid: Mapping[str, Result]) -> int:
    """New formats get the number of those that lie there."""
    return max((one.number for one in valid.values()), default=1)


def _places(
    batch: BatchRow, valid: Mapping[str, Result], places: Mapping[str, Path], number: int
) -> Places:
    paths = {name: one.path for name, one in valid.items()} | dict(places)
    ordered = tuple(paths[name].as_posix() for name in batch.formats)
    return Places(ordered, "renamed" if number > 1 else "")


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
