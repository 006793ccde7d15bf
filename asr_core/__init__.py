"""The transcription engine of 听录 (Tinglu)."""

__version__ = "0.1.0"
