"""Model folders of FunASR for punctuation and voice activity: their networks as ONNX files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from asr_core.models.checkpoint import load_into, read_checkpoint
from asr_core.runtime.funasr import (
    CHECKPOINT_FILES,
    CMVN_FILE,
    CONFIG_FILE,
    TOKENS_FILE,
    find_files,
    read_config,
    unusable,
)

GRAPH_FILE = "model.onnx"
"""What the readers of such folders open."""


@dataclass(frozen=True, slots=True)
class Family:
    """What a converted folder of one kind of model holds.

    Attributes:
        name: of the catalogue.
        small_files: files that are copied beside the graph.
        export: writes the graph of a folder to a file.
    """

    name: str
    small_files: tuple[str, ...]
    export: Callable[[Path, Path], None]


def family_of(folder: Path) -> Family | None:
    """The family of a folder; None where it is another model's.

    Raises:
        ModelFileMissingError: there is no ``config.yaml``.
        ModelIntegrityError: it cannot be read.
    """
    content = read_config(folder / CONFIG_FILE, folder.name)
    return FAMILIES.get(str(content.get("model"))) if isinstance(content, Mapping) else None


def export_ct_transformer(folder: Path, path: Path) -> None:
    """Write the network of a CT-Transformer with the inputs and outputs of FunASR's own file.

    Args:
        folder: holds ``config.yaml``, ``tokens.json`` and a checkpoint.
        path: the file, which is replaced.

    Raises:
        ModelFileMissingError: files are missing; all are named.
        ModelIntegrityError: a file is damaged or does not fit the others.
    """
    wanted = ((CONFIG_FILE,), (TOKENS_FILE,), CHECKPOINT_FILES)
    config, tokens, checkpoint = find_files(folder, wanted, "ct-punc")

    from asr_core.networks.ct_transformer import CtTransformerNetwork, read_ct_transformer_shape
    from asr_core.networks.funasr_graphs import write_ct_transformer

    cell = CtTransformerNetwork(read_ct_transformer_shape(config, _count(tokens)))
    load_into(cell, read_checkpoint(checkpoint), cell.name_table(), checkpoint)
    write_ct_transformer(cell, path)


def export_fsmn_vad(folder: Path, path: Path) -> None:
    """Write the network of an FSMN-VAD with the inputs and outputs of FunASR's own file.

    Args:
        folder: holds ``config.yaml`` and a checkpoint.
        path: the file, which is replaced.

    Raises:
        ModelFileMissingError: files are missing; all are named.
        ModelIntegrityError: a file is damaged or does not fit the others.
    """
    config, checkpoint = find_files(folder, ((CONFIG_FILE,), CHECKPOINT_FILES), "fsmn-vad")

    from asr_core.networks.fsmn_vad import FsmnVadNetwork, read_fsmn_shape
    from asr_core.networks.funasr_graphs import write_fsmn_vad

    cell = FsmnVadNetwork(read_fsmn_shape(config))
    load_into(cell, read_checkpoint(checkpoint), cell.name_table(), checkpoint)
    write_fsmn_vad(cell, path)


def _count(tokens: Path) -> int:
    """Number of words in ``tokens.json``."""
    try:
        words = json.loads(tokens.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise unusable(tokens, "ct-punc", f"cannot be read: {exc}") from exc
    if not isinstance(words, list) or not words:
        raise unusable(tokens, "ct-punc", "is no list of words")
    return len(words)


FAMILIES: Mapping[str, Family] = {
    "CTTransformer": Family("ct-punc", (CONFIG_FILE, TOKENS_FILE), export_ct_transformer),
    "FsmnVADStreaming": Family("fsmn-vad", (CONFIG_FILE, CMVN_FILE), export_fsmn_vad),
}
"""By ``model`` of the configuration."""
