"""What a page plays and draws of a stored recording."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from asr_core.audio.decode import DecodeOptions, probe
from asr_core.audio.peaks import is_peaks_file, reduce_peaks, write_peaks
from asr_core.audio.playback import is_browser_playable, write_playback
from asr_core.errors import RecordNotFoundError
from asr_core.store.history import History
from asr_core.transcription.pipeline import decode_options


class Media:
    """Playback copies and outlines, made when they are asked for; usable from any thread.

    Args:
        history: the recordings.
        playback_folder: where converted copies go, inside the limits of temporary files.
        limits: how long a recording and its decoding may be.
        is_stopped: asked while a recording is decoded for its outline; true gives up.
    """

    def __init__(
        self,
        history: History,
        playback_folder: Path,
        *,
        limits: DecodeOptions,
        is_stopped: Callable[[], bool],
    ) -> None:
        self._history = history
        self._playback_folder = playback_folder
        self._limits = limits
        self._is_stopped = is_stopped
        self._playback_lock = threading.Lock()  # one conversion at a time
        self._peaks_lock = threading.Lock()  # one recording at a time is decoded for its peaks

    def playback(self, recording_id: str) -> Path | None:
        """A file that browsers play: the recording or a converted copy; ``None`` if it is gone.

        Raises:
            RecordNotFoundError: no recording has that id.
            AudioDecodeError: the recording cannot be decoded.
        """
        record = self._history.record(recording_id)
        path, options = record.path, record.job.options
        if path is None:
            return None
        # Of several tracks, browsers play the default one only.
        if not options.raw and options.track is None and is_browser_playable(probe(path)):
            return path
        decoding = decode_options(replace(options, channels="mix"), self._limits)
        target = self._playback_folder / f"{recording_id}-{options.track or 0}.m4a"
        with self._playback_lock:
            if target.is_file():
                os.utime(target)  # in use: the quota takes the longest unused file first
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                write_playback(path, target, decoding)
        return target

    def peaks(self, recording_id: str) -> Path | None:
        """The peaks file of a recording; a finished one that lacks it is decoded for it now.

        Returns:
            ``None`` when the recording is not kept or gone, has a job that waits or runs, or the
            engine closes meanwhile.

        Raises:
            RecordNotFoundError: no recording has that id.
            AudioError: the recording cannot be decoded or the file cannot be written.
        """
        target = self._history.peaks_path(recording_id)
        if target is None or is_peaks_file(target):
            return target
        with self._peaks_lock:
            if is_peaks_file(target):
                return target
            record = self._history.record(recording_id)
            if record.path is None or not record.job.state.is_final:
                return None
            decoding = decode_options(record.job.options, self._limits)
            if not write_peaks(record.path, target, decoding, is_stopped=self._is_stopped):
                return None
        try:
            return self._history.peaks_path(recording_id)
        except RecordNotFoundError:
            target.unlink(missing_ok=True)  # the recording was deleted while it was decoded
            raise

    def outline(self, recording_id: str, count: int, *, end_ms: int | None = None) -> bytes | None:
        """What a page draws of a recording, from :meth:`peaks`.

        Args:
            recording_id: which recording.
            count: parts of equal length.
            end_ms: where the last part ends; ``None`` for the end of the recording.

        Returns:
            Lowest and highest value of each part in turn, int8, 128 being full scale; ``None``
            where there are no peaks.

        Raises:
            RecordNotFoundError, AudioError: as :meth:`peaks`.
        """
        path = self.peaks(recording_id)
        return None if path is None else reduce_peaks(path, count, end_ms=end_ms).tobytes()
