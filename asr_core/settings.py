"""Settings of one installation, read in one place.

Every value comes from an ``ASR_*`` variable or from ``settings.toml`` in the data folder
(same names without the prefix, lower case); the environment wins.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from asr_core.errors import SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PUNCTUATIONS = ("tagger", "own", "ct-punc")
"""Whose punctuation: our model's, the recognizer's, CT-Transformer's."""

NAME_FIELDS = ("date", "time", "name", "model", "duration", "number")
"""What may stand in braces in the name of an exported file."""

NAME_FIELD = re.compile(r"\{(" + "|".join(NAME_FIELDS) + r")\}")
_MOST_NAME_CHARS = 200

_CHOICES: dict[str, tuple[str, ...]] = {
    "runtime": ("auto", "onnxruntime", "mindspore"),
    "vad": ("silero", "fsmn", "off"),
    "punctuation": PUNCTUATIONS,
    "itn_patterns": ("off", "on"),
    "locale": ("zh-CN", "en"),
    "log_level": ("DEBUG", "INFO", "WARNING", "ERROR"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """One installation. The comment on a field is its row in the README's table.

    Raises:
        SettingsError: a value is out of range; names the variable and what is allowed.
    """

    home: Path  # folder of history, recordings, models and temporary files
    host: str = "127.0.0.1"  # address to listen on
    port: int = 7860  # port of the page
    model: str | None = None  # recognizer; the one that was chosen, or else whisper-base
    model_dir: Path | None = None  # folder that already holds the recognizer's files
    loaded_models: int = 2  # recognizers that are loaded at a time
    device: str = "auto"  # auto, cpu, npu or npu:N
    runtime: str = "auto"  # what executes Paraformer: auto, onnxruntime or mindspore
    threads: int = 0  # CPU threads of the recognizer; 0 takes the usable cores, 8 at most
    cpu_affinity: str = "auto"  # cores to stay on: auto (one memory node), none, or a list
    batch_windows: int = 4  # windows of speech (14 s) in one batch
    vad: str = "silero"  # silero, fsmn, or off for noisy recordings
    fsmn_dir: Path | None = None  # FunASR's folder of FSMN-VAD; models/fsmn-vad in the data folder
    punctuation: str = "tagger"  # our model, own (the recognizer's), or ct-punc (CT-Transformer)
    ct_punc_dir: Path | None = None  # folder of CT-Transformer; models/ct-punc in the data folder
    itn_patterns: str = "off"  # on: lines "re: pattern => replacement" of itn_rules.txt count
    max_hours: int = 24  # longer recordings are cut off there, with a warning
    decode_stall_s: int = 60  # longest time that decoding may take without giving any sound
    batch_roots: tuple[Path, ...] | None = None  # folders that the page offers, separated by ":"
    watch_s: int = 10  # pause between two looks at a watched folder
    locale: str = "zh-CN"  # language of the page and of messages when the browser states none
    export_name: str = "{name}"  # names of files: {date} {time} {name} {model} {duration} {number}
    max_upload_mb: int = 4096  # largest file accepted by the page
    tmp_max_age_h: int = 24  # temporary files older than this are deleted
    tmp_max_mb: int = 4096  # temporary files are deleted, oldest first, above this
    bin_days: int = 30  # days that deleted recordings can be restored; 0: they are gone at once
    keep_days: int = 0  # older recordings go into the bin, unless tagged 保留 or keep; 0: never
    keep_audio_days: int = 0  # the sound of older recordings is removed, not the text; 0: never
    hub_url: str = "https://huggingface.co"  # where the embedded model is fetched as a last resort
    modelscope_url: str = "https://www.modelscope.cn"  # where FunASR's models are fetched
    log_level: str = "INFO"  # DEBUG, INFO, WARNING or ERROR

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise _invalid(name, getattr(self, name), " | ".join(allowed))
        if not 0 < self.port < 65536:
            raise _invalid("port", self.port, "1 to 65535")
        if not re.fullmatch(r"auto|cpu|npu(:\d+)?", self.device):
            raise _invalid("device", self.device, "auto | cpu | npu | npu:N")
        if not _is_affinity(self.cpu_affinity):
            raise _invalid("cpu_affinity", self.cpu_affinity, "auto | none | 0-23,48")
        check_export_name(self.export_name)
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise _invalid(name, getattr(self, name), f"a whole number from {least}")

    @classmethod
    def from_env(cls, environ: Mapping[str, str], **overrides: Any) -> Settings:
        """Read the environment and ``settings.toml``.

        Args:
            environ: usually ``os.environ``.
            overrides: values given on the command line; ``None`` means not given.
        """
        home = _folder("home", environ.get("ASR_HOME") or _default_home(environ))
        values: dict[str, Any] = _read_toml(home / "settings.toml")
        known = {field.name for field in fields(cls)}
        for name in known - {"home"}:
            raw = environ.get(variable(name), "")
            if raw != "":
                values[name] = raw
        values |= {name: value for name, value in overrides.items() if value is not None}
        unknown = sorted(set(values) - known)
        if unknown:
            raise _invalid(unknown[0], values[unknown[0]], ", ".join(sorted(known)))
        values = {name: _convert(name, value) for name, value in values.items()}
        return cls(**{"home": home, **values})

    @property
    def database(self) -> Path:
        return self.home / "history.db"

    @property
    def recordings(self) -> Path:
        return self.home / "recordings"

    @property
    def models(self) -> Path:
        return self.home / "models"

    @property
    def tmp(self) -> Path:
        return self.home / "tmp"

    @property
    def itn_rules(self) -> Path:
        return self.home / "itn_rules.txt"


_LEAST = {
    "loaded_models": 1,
    "threads": 0,
    "batch_windows": 1,
    "max_hours": 1,
    "decode_stall_s": 1,
    "watch_s": 1,
    "max_upload_mb": 1,
    "tmp_max_age_h": 1,
    "tmp_max_mb": 1,
    "bin_days": 0,
    "keep_days": 0,
    "keep_audio_days": 0,
}
_INTEGERS = frozenset(_LEAST) | {"port"}
_PATHS = frozenset({"home", "model_dir", "fsmn_dir", "ct_punc_dir"})


def check_export_name(template: str, setting: str = "ASR_EXPORT_NAME") -> None:
    """Refuse a template of file names that could not be filled.

    Args:
        template: text with fields of :data:`NAME_FIELDS` in braces.
        setting: what is named in the error.

    Raises:
        SettingsError: it has another field, a lone brace or a path separator, or is too long.
    """
    rest = NAME_FIELD.sub("", template)
    if len(template) > _MOST_NAME_CHARS or re.search(r"[{}/\\\x00-\x1f]", rest):
        allowed = " ".join(f"{{{field}}}" for field in NAME_FIELDS)
        raise SettingsError(
            f"{setting}={template!r} is not usable; allowed fields: {allowed}",
            name=setting,
            value=template[:_MOST_NAME_CHARS],
            allowed=allowed,
        )


def variable(name: str) -> str:
    """The environment variable of a settings field."""
    return f"ASR_{name.upper()}"


def _default_home(environ: Mapping[str, str]) -> str:
    base = environ.get("XDG_DATA_HOME") or "~/.local/share"
    return f"{base}/tinglu"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise SettingsError(
            f"{path} cannot be read: {exc}", name=str(path), value="", allowed="TOML"
        ) from exc
    return values


def _is_affinity(value: str) -> bool:
    """``auto``, ``none``, or numbers and ranges that do not run backwards."""
    if value in ("auto", "none"):
        return True
    if not re.fullmatch(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*", value):
        return False
    ranges = [part.split("-") for part in value.split(",")]
    return all(int(part[0]) <= int(part[-1]) for part in ranges)


def _convert(name: str, value: Any) -> Any:
    if name in _PATHS:
        return _folder(name, value)
    if name == "batch_roots":
        parts = value if isinstance(value, list) else str(value).split(os.pathsep)
        return tuple(_folder(name, part) for part in parts if str(part)) or None
    if name in _INTEGERS:
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", str(value)):
            raise _invalid(name, value, "a whole number")
        return int(value)
    return str(value)


def _folder(name: str, value: Any) -> Path:
    try:
        return Path(str(value)).expanduser().absolute()
    except RuntimeError as exc:
        raise _invalid(name, value, "a folder; ~ is the home folder of a known user") from exc


def _invalid(name: str, value: object, allowed: str) -> SettingsError:
    return SettingsError(
        f"{variable(name)}={value!r} is not usable; allowed: {allowed}",
        name=variable(name),
        value=str(value),
        allowed=allowed,
    )
