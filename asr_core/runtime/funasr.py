"""What the model folders of FunASR have in common: their files, and ``config.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asr_core.errors import ModelFileMissingError, ModelIntegrityError

CHECKPOINT_FILES = ("model.pt", "model.safetensors", "model.ckpt")
"""The first that a model folder has is used."""

CONFIG_FILE = "config.yaml"
TOKENS_FILE = "tokens.json"
CMVN_FILE = "am.mvn"
SPEECH_FILES = (CONFIG_FILE, TOKENS_FILE, CMVN_FILE)
"""Small files of every recognizer."""

_LARGEST_NUMBER = 1e9


class ConfigError(ValueError):
    """A value that is missing, has the wrong kind or is not supported."""


class Section:
    """One mapping of a configuration; what it leaves out has the default.

    Args:
        content: the whole configuration.
        name: key of the mapping.

    Raises:
        ConfigError: there is something else. So do all methods for values they cannot use.
    """

    def __init__(self, content: Any, name: str) -> None:
        section = content.get(name) if isinstance(content, Mapping) else ""
        if section is not None and not isinstance(section, Mapping):
            raise ConfigError(f"{name} is not a mapping")
        self._values: Mapping[str, Any] = section or {}
        self._name = name

    def number(self, key: str, default: float) -> float:
        """Any number; YAML reads 1e-4 as text."""
        value = self._values.get(key, default)
        try:
            number = float(value)
        except (TypeError, ValueError) as exc:
            raise ConfigError(f"{self._name}.{key} is not a number: {value!r}") from exc
        if not abs(number) <= _LARGEST_NUMBER:
            raise ConfigError(f"{self._name}.{key} is not a usable number: {value!r}")
        return number

    def whole(self, key: str, default: int) -> int:
        """A whole number."""
        number = self.number(key, default)
        if number != int(number):
            raise ConfigError(f"{self._name}.{key} is not a whole number: {number}")
        return int(number)

    def count(self, key: str, default: int, least: int = 1) -> int:
        """A whole number from ``least`` up."""
        number = self.whole(key, default)
        if number < least:
            raise ConfigError(f"{self._name}.{key} is not a whole number from {least}: {number}")
        return number

    def numbers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Whole numbers."""
        values = self._values.get(key, default)
        if not isinstance(values, list | tuple) or not all(isinstance(v, int) for v in values):
            raise ConfigError(f"{self._name}.{key} is not a list of whole numbers: {values!r}")
        return tuple(values)

    def text(self, key: str, default: str) -> str:
        value = self._values.get(key, default)
        if not isinstance(value, str):
            raise ConfigError(f"{self._name}.{key} is not a text: {value!r}")
        return value

    def expect(self, key: str, *expected: object) -> None:
        """The value is one of these; the first is the default."""
        value = self._values.get(key, expected[0])
        if value not in expected:
            wanted = " or ".join(repr(one) for one in expected)
            raise ConfigError(f"{self._name}.{key} is {value!r}; only {wanted} is supported")


def read_config(path: Path, name: str) -> Any:
    """The content of ``config.yaml``, whatever it is.

    Args:
        path: the file.
        name: of the model, for messages.

    Raises:
        ModelFileMissingError: there is no such file.
        ModelIntegrityError: it cannot be read.
    """
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise missing(path.parent, [path.name], name) from exc
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as exc:
        raise unusable(path, name, f"cannot be read: {exc}") from exc


def first_of(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of these files that exists."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def find_files(folder: Path, wanted: Sequence[Sequence[str]], name: str) -> list[Path]:
    """One file for each group of names: the first of the group that exists.

    Raises:
        ModelFileMissingError: groups without a file; all are named.
    """
    found = [first_of(folder, names) for names in wanted]
    absent = [" / ".join(names) for names, path in zip(wanted, found, strict=True) if path is None]
    if absent:
        raise missing(folder, absent, name)
    return [path for path in found if path is not None]


def missing(folder: Path, files: Sequence[str], name: str) -> ModelFileMissingError:
    """The error that names all files a folder lacks."""
    named = ", ".join(files)
    return ModelFileMissingError(
        f"{folder} lacks files of the model {name}: {named}",
        name=name,
        path=str(folder / files[0].partition(" / ")[0]),
        reason="files",
        folder=str(folder),
        files=named,
    )


def unusable(path: Path, name: str, problem: str) -> ModelIntegrityError:
    """The error for a file that has another content."""
    return ModelIntegrityError(
        f"{path} {problem}; put FunASR's whole model folder there",
        name=name,
        path=str(path),
        reason="folder",
    )
