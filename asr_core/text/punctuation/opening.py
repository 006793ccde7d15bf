"""Opening a punctuation model by its name or folder."""

from __future__ import annotations

from pathlib import Path

from asr_core.text.punctuation.base import PunctuationModel

TAGGER = "tagger"
"""Names the network that the project brings along."""

TAGGER_FOLDER = Path(__file__).resolve().parents[3] / "assets" / "punctuation"


def open_punctuation(name_or_folder: str, *, threads: int) -> PunctuationModel:
    """Open ``tagger``, or a folder: another tagger, or FunASR's CT-Transformer.

    Args:
        name_or_folder: the name, or a folder that holds ``model.json`` (a tagger) or
            ``config.yaml`` (CT-Transformer).
        threads: threads inside one operator, at least 1.

    Raises:
        ModelFileMissingError: the folder or one of its files is missing.
        ModelIntegrityError: a file is damaged or belongs to another model.
        DeviceError: ONNX Runtime is missing or cannot load the network.
    """
    from asr_core.text.punctuation.ct_transformer import CtTransformer
    from asr_core.text.punctuation.tagger import FACTS_FILE, PunctuationTagger

    folder = TAGGER_FOLDER if name_or_folder == TAGGER else Path(name_or_folder)
    if name_or_folder == TAGGER or (folder / FACTS_FILE).is_file():
        return PunctuationTagger(folder, threads)
    return CtTransformer(folder, threads=threads)
