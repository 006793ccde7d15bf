"""Model folders to convert, as FunASR has them, with tiny networks."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.golden.paraformer_files import PLAIN, SEACO

KINDS = {"SeacoParaformer": SEACO, "Paraformer": PLAIN}
"""Golden models by what FunASR calls their networks."""


def source_folder(folder: Path, kind: str = "SeacoParaformer") -> Path:
    """Write FunASR's folder of a golden model, which has no graphs."""
    folder.mkdir(parents=True)
    for name in ("config.yaml", "tokens.json", "am.mvn", "seg_dict", "model.pt"):
        shutil.copyfile(KINDS[kind] / name, folder / name)
    return folder
