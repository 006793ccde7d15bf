"""Write ``fsmn_vad.json``: what the reference, funasr-onnx, finds in the recordings of the tests.

Runs in an environment of its own, from the root of the project; the reference pins other packages:

    python3 -m venv REFERENCE
    REFERENCE/bin/pip install funasr-onnx==0.4.3 av
    REFERENCE/bin/python -m tests.golden.make_fsmn_vad SPEECH_FOLDER MODEL_FOLDER

``Fsmn_vad`` is the class for whole recordings; it gets the waveforms that our own decoder gives.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from tests.golden.fsmn_material import (
    CASES,
    MEETING,
    Case,
    for_half_an_hour,
    read,
    recording_names,
    variants,
)

TARGET = Path(__file__).with_name("fsmn_vad.json")
REFERENCE = "0.4.3"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("speech", type=Path)
    parser.add_argument("model", type=Path)
    arguments = parser.parse_args()
    try:
        installed = version("funasr-onnx")
    except PackageNotFoundError:
        installed = "none"
    if installed != REFERENCE:
        parser.error(f"this needs funasr-onnx {REFERENCE}, not {installed}; see --help")
    speech, model = arguments.speech, arguments.model
    golden = {
        "reference": f"Fsmn_vad of funasr-onnx {REFERENCE}, intervals in ms",
        "network_sha256": hashlib.sha256((model / "model.onnx").read_bytes()).hexdigest(),
    }
    detect = load_reference(model)
    meeting = read(speech / MEETING)
    golden |= {
        "recordings": {name: detect(read(speech / name)) for name in recording_names(speech)},
        "meeting": {name: detect(waveform) for name, waveform in variants(meeting)},
        "for half an hour": detect(for_half_an_hour(meeting)),
        "cases": {str(case.seed): decide(case) for case in CASES},
    }
    TARGET.write_text(as_lines(golden), encoding="utf-8")


def load_reference(model: Path):
    from funasr_onnx import Fsmn_vad

    detector = Fsmn_vad(str(model), intra_op_num_threads=1)
    return lambda waveform: detector(np.ascontiguousarray(waveform, np.float32))[0]


def decide(case: Case) -> list[list[int]]:
    """The reference's decisions alone, on made-up scores."""
    from funasr_onnx.utils.e2e_vad import E2EVadModel

    decision = E2EVadModel(dict(case.model_conf))
    found = decision(
        case.scores()[None],
        case.waveform()[None],
        is_final=True,
        max_end_sil=int(case.model_conf.get("max_end_silence_time", 800)),
    )
    return found[0] if found else []


def as_lines(golden: dict) -> str:
    """JSON with one line for each recording."""
    lines: list[str] = []
    depth = 0
    for line in json.dumps(golden, ensure_ascii=False, indent=1).splitlines():
        if depth:
            lines[-1] += " " * lines[-1].endswith(",") + line.strip()
        else:
            lines.append(line)
        depth += line.count("[") - line.count("]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
