"""Networks executed by ONNX Runtime on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asr_core.errors import (
    DeviceError,
    DeviceUnavailableError,
    ModelFileMissingError,
    SessionClosedError,
    UsageError,
)
from asr_core.runtime.session import Array, TensorSpec, check_inputs

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int8)": "int8",
    "tensor(uint8)": "uint8",
    "tensor(int16)": "int16",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(bool)": "bool",
}

_ONLY_FATAL_LOGS = 4


class OnnxSession:
    """One ONNX network on the CPU; implements :class:`asr_core.runtime.session.Session`.

    Several threads may run it at once; it is closed when none does.

    Args:
        path: the ``.onnx`` file.
        threads: threads inside one operator, at least 1; operators run one after another.
        content: what is run in place of the file's own content.

    Raises:
        UsageError: ``threads`` is below 1.
        ModelFileMissingError: there is no such file.
        DeviceUnavailableError: ONNX Runtime is not installed.
        DeviceError: ONNX Runtime cannot load the file.
    """

    def __init__(self, path: Path, *, threads: int, content: bytes | None = None) -> None:
        if threads < 1:
            raise UsageError(f"A session needs at least one thread, not {threads}")
        if not path.is_file():
            raise ModelFileMissingError(
                f"The model file {path} is missing", name=path.stem, path=str(path)
            )
        self._name = path.name
        self._errors = _runtime_errors()
        self._session: Any = self._load(path, threads, content)
        self._input_specs = tuple(_spec(argument) for argument in self._session.get_inputs())
        self._output_specs = tuple(_spec(argument) for argument in self._session.get_outputs())

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        return self._input_specs

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        return self._output_specs

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Execute the network once; see :meth:`asr_core.runtime.session.Session.run`."""
        if self._session is None:
            raise SessionClosedError(f"The session of {self._name} is closed")
        check_inputs(self._input_specs, inputs)
        names = [spec.name for spec in self._output_specs]
        try:
            outputs = self._session.run(names, dict(inputs))
        except self._errors as exc:
            raise DeviceError(
                f"ONNX Runtime failed in {self._name}: {exc}", reason=str(exc)
            ) from exc
        return dict(zip(names, outputs, strict=True))

    def close(self) -> None:
        """Release the network; a second call does nothing."""
        self._session = None

    def _load(self, path: Path, threads: int, content: bytes | None) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = _ONLY_FATAL_LOGS
        # The arena never shrinks after one long input.
        options.enable_cpu_mem_arena = False
        # What it plans for each shape stays: every new length of a recording would cost memory.
        options.enable_mem_pattern = False
        try:
            return onnxruntime.InferenceSession(
                str(path) if content is None else content,
                sess_options=options,
                providers=["CPUExecutionProvider"],
            )
        except self._errors as exc:
            raise DeviceError(
                f"ONNX Runtime cannot load {path.name}: {exc}", reason=str(exc)
            ) from exc


def _runtime_errors() -> tuple[type[Exception], ...]:
    """Every exception class of ONNX Runtime; they share no base class of their own."""
    try:
        from onnxruntime.capi import onnxruntime_pybind11_state as state
    except ImportError as exc:
        raise DeviceUnavailableError(
            "ONNX Runtime is not installed; install the onnxruntime package",
            device="cpu",
            reason="onnxruntime is not installed",
        ) from exc
    own = [
        member
        for member in vars(state).values()
        if isinstance(member, type) and issubclass(member, Exception)
    ]
    return (*own, RuntimeError, ValueError)


def _spec(argument: Any) -> TensorSpec:
    shape = tuple(axis if isinstance(axis, int) else None for axis in argument.shape)
    return TensorSpec(argument.name, shape, _DTYPES.get(argument.type, argument.type))
