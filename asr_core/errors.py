"""The typed errors of the engine.

::

    AsrError                        things that can happen; ``code`` is stable, details carry data
    ├─ SettingsError
    ├─ AudioError: AudioDecodeError
    ├─ ModelError: UnknownModelError · ModelFileMissingError · ModelIntegrityError · ConvertError
    ├─ DeviceError: DeviceUnavailableError · DeviceMemoryError · DeviceLostError ·
    │               DeviceMismatchError · DeviceInputError · DeviceDriftError ·
    │               SessionClosedError
    ├─ RecognitionError
    ├─ NormalizationError
    ├─ StoreError: MigrationError · RecordNotFoundError
    ├─ HistoryError
    ├─ JobError: JobNotFoundError · JobStateError
    ├─ BatchError
    ├─ EditError: EditConflictError
    ├─ ExportError
    ├─ ManifestError
    └─ InternalError
    TranscriptionCancelled          not an error: its own root
    UsageError(RuntimeError)        programmer mistakes

The page and the command line turn ``code`` into words through ``assets/i18n``
(key ``error.<code>``, formatted with ``details``); ``str(error)`` is English for logs.
"""

from __future__ import annotations


class AsrError(Exception):
    """A fault that can happen in use and is shown to the user.

    Args:
        message: English sentence that names the thing and the remedy.
        details: values for the user's sentence (path, reason, name, ...).
    """

    code = "error"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class SettingsError(AsrError):
    """A setting has a value that cannot be used. Details: ``name``, ``value``, ``allowed``."""

    code = "settings"


class AudioError(AsrError):
    """A recording cannot be used."""

    code = "audio"


class AudioDecodeError(AudioError):
    """A file cannot be decoded. Details: ``path`` (file name), ``reason``.

    ``reason`` is a stable word: ``missing``, ``unreadable``, ``empty`` (0 bytes),
    ``header_only`` (no sound behind the header), ``not_audio``, ``raw_undeclared`` (PCM without a
    header), ``no_audio_track``, ``no_such_track`` (details ``track`` and ``tracks``),
    ``protected`` (encrypted), ``unsupported`` (codec), ``stalled`` (the decoder ran too long
    without a result), ``damaged``.
    """

    code = "audio_decode"


class ModelError(AsrError):
    """A model cannot be used. Details: ``name``, ``reason``.

    ``reason`` is a stable word: ``network`` (details ``file``, ``url``, ``setting``, ``cause``),
    ``listing`` (the hub does not offer the files; ``setting``, ``cause``), ``disk_full``
    (``path``, ``needed_mb``, ``free_mb``), ``storage`` (``path``, ``cause``). Of a folder that the
    user names: ``no_folder``, ``no_model``, ``kind`` (not supported; ``kind``), ``in_settings``
    (a setting decides; ``setting``).
    """

    code = "model"


class UnknownModelError(ModelError):
    """No model has that name. Details: ``name``, ``known``."""

    code = "unknown_model"


class ModelFileMissingError(ModelError):
    """A model is not installed or lacks files. Details: ``name``, ``path`` (of the first).

    ``reason`` is ``files`` where some files are there (details ``files``: all that are missing,
    ``folder``), ``own_folder`` the same for a folder that the settings name, ``brought`` for one
    that was typed in, ``folder`` where a stage that reads a model folder of FunASR misses one file.
    """

    code = "model_missing"


class ModelIntegrityError(ModelError):
    """A model file does not have its published content. Details: ``name``, ``path``.

    ``reason`` is ``hub`` where a hub sends it (details ``file``, ``setting``), ``own_folder`` in a
    folder that the settings name, ``folder`` where a stage reads a model folder of FunASR,
    ``graphs`` in a folder that this program converted.
    """

    code = "model_integrity"


class ConvertError(ModelError):
    """A model cannot be converted. Details: ``path``, ``reason``.

    ``reason`` is a stable word: ``package`` (details ``package``, ``python``: MindSpore or another
    package that conversion needs is not there), ``exists`` (the output), ``foreign`` (the output
    holds something else), ``inside`` (the output lies in the source or the other way round),
    ``busy``, ``disk_full`` (``needed_mb``, ``free_mb``), ``storage`` (``cause``), ``operators``
    (``names`` that are none), ``kind`` (``model``: a kind of network that is not converted),
    ``whole`` (``model``: a kind in which nothing can be chosen), ``export`` (``graph``, ``cause``:
    MindSpore cannot write it), ``recordings`` (``cause``: none that gives text, for a report). For
    Ascend devices: ``soc`` (``found``: no chip here or several kinds), ``soc_name`` (``soc``: no
    chip is called so), ``shapes`` (``soc``, ``shapes``, ``allowed``), ``frames`` (``least``: of the
    largest size), ``gears`` (``graph``, ``count``, ``least``, ``most``), ``graphs`` (``names``,
    ``known``), ``om_kind`` (``model`` that stays on the CPU), ``om_source`` (``runtime``,
    ``precision`` of graphs that no OM can be made of), ``om_quantized``, ``om_domain``,
    ``om_opset`` and ``om_inputs`` (``graph``, ``cause``), ``no_atc``, ``atc``, ``atc_domains``,
    ``atc_gears``, ``atc_operator``, ``atc_python``, ``atc_arguments`` and ``atc_timeout``
    (``graph``, ``log``, ``lines``: the last ones of the log), ``unfinished`` (a folder whose OM
    files are not made yet).
    """

    code = "convert"


class DeviceError(AsrError):
    """A device or its runtime failed. Details: ``reason``.

    A failed call of an Ascend device adds ``device``, ``call``, ``number`` (its return code),
    ``name`` (of the code) and ``text`` (what the runtime said); ``reason`` is then a stable word:
    ``caller`` (the program called it wrongly), ``model`` (the OM file cannot be used),
    ``resource`` (nothing left but memory), ``unsupported`` (by chip or runtime), ``internal``.
    """

    code = "device"


class DeviceUnavailableError(DeviceError):
    """The requested device cannot be used. Details: ``device``, ``reason``.

    ``reason`` is a stable word: ``no_mindspore`` (it cannot be imported; ``text``),
    ``other_graphs`` (a folder's graphs are for another runtime; ``path``, ``runtime``), for Ascend
    devices ``no_acl`` (pyACL is not installed),
    ``acl_broken`` (it cannot be imported; ``text``), ``no_such_device`` (``count``), ``finished``
    (the runtime was shut down in this process), ``environment`` (driver, firmware or CANN; details
    as of a failed call). Of a model (details ``model``): ``cpu_only`` (it runs nowhere else),
    ``no_om`` (it has no OM files), ``only_npu`` (it has nothing else).
    """

    code = "device_unavailable"


class DeviceMemoryError(DeviceError):
    """A device has no memory left. Details as of a failed call."""

    code = "device_memory"


class DeviceLostError(DeviceError):
    """A device answers no more; what ran on it is lost. Details as of a failed call.

    ``reason`` is ``lost``, ``hang`` where it did not end in time (details ``seconds``), ``none``
    where no device of several was ready (details ``seconds``, ``text``), or ``unfit`` where it is
    too hot or ill to be opened (details ``text``).
    """

    code = "device_lost"


class DeviceMismatchError(DeviceError):
    """A model file is made for another chip or a later CANN.

    Details: ``path`` (file name), ``device``, ``soc``, ``model_soc``, ``cann`` and ``model_cann``
    ("?" where unknown); ``reason`` is ``soc`` or ``cann``.
    """

    code = "device_mismatch"


class DeviceInputError(DeviceError):
    """An input is larger than the model file takes.

    Details: ``axis`` (its name), ``size``, ``limit``.
    """

    code = "device_input"


class DeviceDriftError(DeviceError):
    """A device computes other numbers than the CPU.

    Details: ``device``, ``graph``, ``output``, ``error`` (root mean square of the difference over
    that of the CPU's result), ``limit``, ``precision``.
    """

    code = "device_drift"


class SessionClosedError(DeviceError):
    """A session was used after it was closed."""

    code = "session_closed"


class RecognitionError(AsrError):
    """The recognizer failed on a segment. Details: ``start_ms``, ``end_ms``."""

    code = "recognition"


class NormalizationError(AsrError):
    """Number normalization failed; the spoken form stands. Details: ``reason``."""

    code = "normalization"


class StoreError(AsrError):
    """The history database cannot be used. Details: ``path``, ``reason``."""

    code = "store"


class MigrationError(StoreError):
    """The database could not be brought to this version. Details: ``path``, ``backup``."""

    code = "migration"


class RecordNotFoundError(StoreError):
    """No record has that id. Details: ``id``."""

    code = "record_not_found"


class HistoryError(AsrError):
    """The history cannot be changed like that. Details: ``reason``.

    ``reason`` is a stable word: ``no_tag`` (details ``name``), ``tag_empty``, ``tag_long`` and
    ``note_long`` (details ``most``: characters), ``name_empty``.
    """

    code = "history"


class JobError(AsrError):
    """A job cannot be handled."""

    code = "job"


class JobNotFoundError(JobError):
    """No job has that id. Details: ``id``."""

    code = "job_not_found"


class JobStateError(JobError):
    """A job is in a state that does not allow the request. Details: ``id``, ``state``."""

    code = "job_state"


class BatchError(AsrError):
    """A batch cannot be started or handled. Details: ``path``, ``reason``.

    ``reason`` is a stable word: ``no_roots`` (no folder is configured), ``outside`` (of the
    configured folders), ``missing``, ``unreadable``, ``not_writable``, ``disk_full``, ``busy``
    (another batch works on this output folder), ``empty`` (nothing to transcribe), ``formats``
    and ``on_existing`` (unknown choice), ``archive`` (damaged zip), ``archive_protected`` (needs a
    password), ``archive_too_large``, ``archive_unsafe`` (names or links that lead out of it),
    ``not_found`` (no such batch).
    """

    code = "batch"


class EditError(AsrError):
    """A transcript cannot be changed like that. Details: ``reason``.

    ``reason`` is a stable word: ``no_text`` (the recording has no transcript yet),
    ``no_sentence`` and ``no_token`` (nothing stands at that place), ``no_span`` (no correction
    begins there), ``empty`` (nothing would stand on one side of a cut), ``inside`` (a cut through
    what is written as one), ``overlap`` (sentences said at the same time cannot be one),
    ``nothing`` (to undo or redo), ``no_version`` (that name or revision), ``no_proposal`` (it is
    gone), ``not_ready`` (the proposal is still being recognized), ``no_recording`` (it is not
    kept, so no part of it can be recognized again), ``range`` (no stretch of the recording),
    ``name`` (a version needs one).
    """

    code = "edit"


class EditConflictError(EditError):
    """A transcript was changed since the revision that an edit was made on.

    Details: ``reason`` (``edited``, or ``replaced`` by a new transcription), ``revision`` (as it
    is now), ``who`` and ``time_ms`` of the last change, ``changes``: what happened since, as
    ``[first, removed, added]`` in order; empty where it was replaced.
    """

    code = "edit_conflict"


class ExportError(AsrError):
    """A transcript cannot be written. Details: ``path`` or ``format``, ``reason``."""

    code = "export"


class ManifestError(AsrError):
    """A list of recordings and texts cannot be used. Details: ``path``, ``line``, ``reason``.

    ``reason`` is a stable word: ``unreadable`` (also missing), ``encoding`` (not UTF-8),
    ``columns`` (details ``columns``: what is missing or unknown in the header), ``cells`` (a row
    has more cells than the header), ``no_audio`` (a row names no recording), ``twice`` (a
    recording is listed again), ``unlisted`` (a text for a recording that is not evaluated),
    ``empty`` (no row).
    """

    code = "manifest"


class InternalError(AsrError):
    """A fault of the program that stopped one job or file. Details: ``error_id``, for the log."""

    code = "internal"


class TranscriptionCancelled(Exception):  # noqa: N818 - a request that was honoured, not an error
    """Recognition stopped because its cancel token was set."""


class UsageError(RuntimeError):
    """The engine was called in a way that its contract forbids."""
