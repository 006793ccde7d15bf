"""Handlers of the header line and the system tab."""

from __future__ import annotations

from asr_core.engine import EngineStatus, SystemInfo
from asr_core.messages import message
from ui import view
from ui.guard import Page
from ui.i18n import optional_message
from ui.view import View

_UNITS = ("B", "KB", "MB", "GB", "TB")


def header(page: Page, locale: str) -> View:
    """Model, device and state for the header line."""
    return view.status_view(page.engine.status(), locale)


def overview(page: Page, locale: str) -> View:
    """All cards of the system tab."""
    status, system = page.engine.status(), page.engine.system()
    return {
        "cards": [
            _card("engine", _engine_rows(status, locale), locale),
            _card("machine", _machine_rows(system, locale), locale),
            _card("npu", _npu_rows(system, locale), locale),
            _card("data", _data_rows(system, locale), locale),
            _card("versions", _version_rows(system, locale), locale),
        ],
    }


def readable_bytes(count: int) -> str:
    """``1536`` as ``1.5 KB``."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit < 2 or size >= 100 else f"{size:.1f} {_UNITS[unit]}"


def _card(name: str, rows: list[list[str]], locale: str) -> View:
    return {"id": name, "title": message(f"page.card_{name}", locale), "rows": rows}


def _engine_rows(status: EngineStatus, locale: str) -> list[list[str]]:
    header_line = view.status_view(status, locale)
    rows = [
        [message("page.model", locale), header_line["model"]],
        [message("page.backend", locale), status.backend],
        *_device_rows(status, locale),
        [message("page.threads", locale), str(status.threads)],
        [message("page.state", locale), message(f"page.state_{status.state}", locale)],
        [message("page.queue", locale), str(status.queued)],
    ]
    return [*rows, ["", header_line["error"]]] if header_line["error"] else rows


def _device_rows(status: EngineStatus, locale: str) -> list[list[str]]:
    """Where the model runs and why, and the state of each Ascend device."""
    rows = [[message("page.device", locale), status.device.upper()]]
    if status.choice is not None and status.choice.reason != "asked":
        why = optional_message(
            f"device_choice.{status.choice.reason}",
            locale,
            status.choice.reason,
            **dict(status.choice.figures),
        )
        rows.append([message("page.device_why", locale), why])
    for member in status.members:
        state = message(
            f"page.device_{member.state.value}", locale, done=member.done, reason=member.reason
        )
        rows.append([member.name.upper(), state])
    return rows


def _machine_rows(system: SystemInfo, locale: str) -> list[list[str]]:
    memory = f"{readable_bytes(system.memory_available_bytes)} / "
    disk = f"{readable_bytes(system.disk_free_bytes)} / "
    return [
        [message("page.machine", locale), system.machine],
        [message("page.cores", locale), str(system.cpu_cores)],
        [message("page.memory_used", locale), readable_bytes(system.rss_bytes)],
        [
            message("page.memory_free", locale),
            memory + readable_bytes(system.memory_total_bytes),
        ],
        [message("page.disk_free", locale), disk + readable_bytes(system.disk_total_bytes)],
    ]


def _npu_rows(system: SystemInfo, locale: str) -> list[list[str]]:
    """One row a chip, or one that says that there is none or that nothing is known."""
    report = system.npus
    if report.state != "ok":
        return [[message("page.state", locale), message(f"page.npu_{report.state}", locale)]]
    rows = []
    for chip in report.chips:
        parts = [chip.health or message("page.npu_untold", locale)]
        if chip.temp_c is not None:
            parts.append(f"{chip.temp_c:.0f} °C")
        if chip.power_w is not None:
            parts.append(f"{chip.power_w:.0f} W")
        if chip.aicore_percent is not None:
            parts.append(message("page.npu_busy", locale, percent=f"{chip.aicore_percent:.0f}"))
        if chip.memory_used_mb is not None and chip.memory_total_mb:
            used, total = f"{chip.memory_used_mb:.0f}", f"{chip.memory_total_mb:.0f}"
            parts.append(message("page.npu_memory", locale, used=used, total=total))
        rows.append([f"{chip.name} {chip.card}/{chip.chip}", " · ".join(parts)])
    return rows


def _data_rows(system: SystemInfo, locale: str) -> list[list[str]]:
    rows = []
    for name, path in system.paths.items():
        size = system.sizes_bytes.get(name)
        title = optional_message(f"page.path_{name}", locale, name)
        rows.append([title, str(path), "" if size is None else readable_bytes(size)])
    return rows


def _version_rows(system: SystemInfo, locale: str) -> list[list[str]]:
    rows = [[name, version] for name, version in system.versions.items() if version]
    if system.mindspore_note:
        note = message(f"page.mindspore_{system.mindspore_note}", locale)
        rows = [row for row in rows if row[0].lower() != "mindspore"]
        rows.append(["MindSpore", note])
    return rows
