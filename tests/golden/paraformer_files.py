"""Where the golden files of Paraformer lie."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
SEACO = _HERE / "paraformer_onnx"
PLAIN = _HERE / "paraformer_plain"


@functools.cache
def golden() -> dict[str, Any]:
    """What the references said."""
    content: dict[str, Any] = json.loads(
        (_HERE / "paraformer_onnx.json").read_text(encoding="utf-8")
    )
    return content


def quantize(folder: Path, target: Path) -> Path:
    """A copy of a folder with quantized graphs beside the others, made as FunASR's export does."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    shutil.copytree(folder, target)
    for path in folder.glob("*.onnx"):
        names = [node.name for node in onnx.load(path).graph.node]
        kept = [name for name in names if "output" in name or "bias_encoder" in name]
        quantize_dynamic(
            path,
            target / f"{path.stem}_quant.onnx",
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QUInt8,
            nodes_to_exclude=kept,
        )
    return target
