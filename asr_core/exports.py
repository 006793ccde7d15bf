"""What the engine offers for files: transcripts in every format, clips of recordings."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from asr_core.audio.clip import CLIP_FORMATS, write_clip
from asr_core.equipment import Equipment
from asr_core.errors import ExportError
from asr_core.export.clean import whole_clock
from asr_core.export.naming import Named, file_stem, name_file
from asr_core.export.options import ExportOptions
from asr_core.export.registry import FORMATS, export, put_file
from asr_core.settings import Settings
from asr_core.store.history import History, HistoryRecord
from asr_core.transcription.pipeline import decode_options

EXPORT_FORMATS: tuple[str, ...] = tuple(FORMATS)
"""Names that :meth:`ExportDoor.export` takes."""

EXPORT_CHOICES: dict[str, tuple[str, ...]] = {
    name: writer.options for name, writer in FORMATS.items()
}
"""Fields of :class:`ExportOptions` that each format heeds, besides ``name``."""

__all__ = ["CLIP_FORMATS", "EXPORT_CHOICES", "EXPORT_FORMATS", "ExportDoor", "named_by"]


class ExportDoor:
    """The engine's methods for files; usable from any thread.

    Files lie below the temporary folder, each in a folder of its own.
    """

    _settings: Settings
    _history: History
    _equipment: Equipment

    def export(
        self,
        recording_id: str,
        format_name: str,
        options: ExportOptions | None = None,
        *,
        locale: str = "",
    ) -> Path:
        """Write one transcript into the temporary folder under a name of the template.

        Args:
            recording_id: which recording.
            format_name: of :data:`EXPORT_FORMATS`.
            options: what the user chose.
            locale: of what stands around the text in documents; empty for the setting.

        Raises:
            RecordNotFoundError: no recording has that id.
            ExportError: it has no transcript, the format is unknown or the disk refuses.
            SettingsError: the template of the name is not usable.
        """
        options = options or ExportOptions()
        record = self._history.record(recording_id)
        name = record.entry.name
        if record.transcript is None:
            raise ExportError(
                f"{name} has no transcript yet", format=format_name, reason="no_transcript"
            )
        named = named_by(record)
        content = export(
            record.transcript,
            format_name,
            title=name,
            options=options,
            created=named.created,
            locale=locale or self._settings.locale,
        )
        template = options.name or self._settings.export_name
        path = self._new_folder() / name_file(template, named, FORMATS[format_name].extension)
        put_file(content, path, replace=False)
        return path

    def clip(self, recording_id: str, start_ms: int, end_ms: int, format_name: str) -> Path:
        """Cut a part out of a recording: mono, 16 kHz.

        Args:
            recording_id: which recording.
            start_ms: first millisecond.
            end_ms: one past the last one.
            format_name: of :data:`CLIP_FORMATS`.

        Raises:
            RecordNotFoundError: no recording has that id.
            ExportError: ``no_recording`` (it is not kept or gone), ``range`` (no part of it), the
                format is unknown or the disk refuses.
            AudioError: the recording cannot be decoded or the file not written.
        """
        if format_name not in CLIP_FORMATS:
            known = ", ".join(CLIP_FORMATS)
            raise ExportError(
                f"no format {format_name!r} of clips; known: {known}",
                format=format_name,
                reason=f"{format_name}: {known}",
            )
        record = self._history.record(recording_id)
        name = record.entry.name
        if record.path is None:
            raise ExportError(f"{name} is not kept", path=name, reason="no_recording")
        outside = ExportError(f"{name} has no such part", path=name, reason="range")
        if not 0 <= start_ms < end_ms:
            raise outside
        times = "-".join(whole_clock(ms).replace(":", ".") for ms in (start_ms, end_ms))
        named = Named(f"{file_stem(name)} {times}.{format_name}")
        path = self._new_folder() / name_file("", named, format_name)
        options = replace(record.job.options, channels="mix")
        decoding = decode_options(options, self._equipment.limits)
        if not write_clip(record.path, path, start_ms, end_ms, decoding):
            raise outside
        return path

    def _new_folder(self) -> Path:
        folder = self._settings.tmp / "exports" / uuid.uuid4().hex
        try:
            folder.mkdir(parents=True)
        except OSError as exc:
            raise ExportError(
                f"{folder} cannot be written: {exc}", path=str(folder), reason=str(exc)
            ) from exc
        return folder


def named_by(record: HistoryRecord) -> Named:
    """What a recording puts into a template of names."""
    transcript = record.transcript
    return Named(
        name=record.entry.name,
        model=transcript.model.name if transcript else "",
        created=datetime.fromtimestamp(record.entry.created_ms / 1000).astimezone(),
        duration_ms=transcript.duration_ms if transcript else record.entry.duration_ms,
    )
