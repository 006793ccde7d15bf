"""Which files were hashed, and how they looked on disk at that moment.

A file whose size and modification time are as recorded needs no second hashing. Stamps live in
the models folder, also for files elsewhere, because a folder of the user is never written to.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file as ``stat`` sees it."""

    size_bytes: int
    modified_ns: int


class StampBook:
    """Stamps of one models folder, one small file each, written atomically."""

    def __init__(self, models_dir: Path) -> None:
        self._folder = models_dir / ".verified"

    def take(self, path: Path) -> Stamp:
        """The stamp of a file as it is now; taken before hashing."""
        status = path.stat()
        return Stamp(status.st_size, status.st_mtime_ns)

    def vouches(self, path: Path, sha256: str) -> bool:
        """Whether the file had this hash and has not been touched since."""
        try:
            recorded = json.loads(self._book(path, sha256).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        stamp = self.take(path)
        return bool(recorded == [str(path), stamp.size_bytes, stamp.modified_ns])

    def record(self, path: Path, stamp: Stamp, sha256: str) -> None:
        """Remember that the file hashed to ``sha256`` while it looked like ``stamp``.

        A models folder that cannot be written only costs the next start another hashing.
        """
        book = self._book(path, sha256)
        draft = book.with_name(f"{book.name}.{os.getpid()}")
        line = json.dumps([str(path), stamp.size_bytes, stamp.modified_ns])
        with contextlib.suppress(OSError):
            book.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(line, encoding="utf-8")
            draft.replace(book)

    def _book(self, path: Path, sha256: str) -> Path:
        return self._folder / f"{path.name}.{sha256[:16]}.json"
