"""Transcripts as files: one writer a format."""

from asr_core.export.registry import FORMATS, Writer, export, file_name

__all__ = ["FORMATS", "Writer", "export", "file_name"]
