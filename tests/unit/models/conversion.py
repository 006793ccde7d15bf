"""Model folders to convert, as FunASR has them, with tiny networks."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.golden.paraformer_files import SEACO
from tests.unit.networks.golden import FOLDER

KINDS = {"SeacoParaformer": "seaco_paraformer", "Paraformer": "paraformer"}
"""Golden models by what FunASR calls their networks."""


def source_folder(folder: Path, kind: str = "SeacoParaformer") -> Path:
    """Write FunASR's folder of a golden model."""
    folder.mkdir(parents=True)
    for name in ("config.yaml", "tokens.json", "model.pt"):
        shutil.copyfile(FOLDER / KINDS[kind] / name, folder / name)
    for name in ("am.mvn", "seg_dict"):
        shutil.copyfile(SEACO / name, folder / name)
    return folder
