"""Copies of ONNX graphs in memory that give more than the files do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from asr_core.errors import DeviceError, DeviceUnavailableError, ModelIntegrityError
from asr_core.runtime.onnx import OnnxSession


def tapped_session(
    path: Path, tap: Callable[[Any], dict[str, str]], *, name: str, threads: int
) -> tuple[OnnxSession, dict[str, str]]:
    """A session of a graph with further outputs.

    Args:
        path: the ``.onnx`` file, which is left as it is.
        tap: adds outputs to an ``onnx.ModelProto`` and names them.
        name: of the model, for messages.
        threads: CPU threads, at least 1.

    Returns:
        The session, and what ``tap`` returned.

    Raises:
        DeviceUnavailableError: the package onnx is not installed.
        ModelIntegrityError: the file is no ONNX graph, or cannot be run with these outputs.
    """
    try:
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    except ImportError as exc:
        raise DeviceUnavailableError(
            "The package onnx is not installed; requirements.txt has it",
            device="cpu",
            reason="onnx is not installed",
        ) from exc
    try:
        model = onnx.load(path)
        taps = tap(model)
        content = model.SerializeToString()
        del model
        return OnnxSession(path, threads=threads, content=content), taps
    except DeviceUnavailableError:
        raise
    except (OSError, DecodeError, ValueError, onnx.checker.ValidationError, DeviceError) as exc:
        raise ModelIntegrityError(
            f"{path} cannot be loaded: {exc}", name=name, path=str(path), reason="folder"
        ) from exc
