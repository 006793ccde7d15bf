"""The whole page: header, six tabs, and what ``launch()`` needs to serve it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from asr_core.engine import Engine
from asr_core.settings import Settings
from ui.guard import Page, guarded_event
from ui.handlers import batch as batch_tab
from ui.handlers import history as history_tab
from ui.handlers.file import SAMPLE
from ui.i18n import build_i18n, label, script_messages
from ui.middleware import EarlyScript
from ui.tabs.batch import build_batch_tab
from ui.tabs.dictation import build_dictation_tab
from ui.tabs.evaluate import build_evaluate_tab
from ui.tabs.file import build_file_tab
from ui.tabs.history import build_history_tab
from ui.tabs.models import ModelPickers
from ui.tabs.parts import EACH, queued
from ui.tabs.system import build_header, build_system_tab
from ui.theme import TingluTheme

ASSETS = Path(__file__).resolve().parent.parent / "assets"
SCRIPTS = (
    "core",
    "notify",
    "job",
    "wave",
    "player",
    "words",
    "lines",
    "caret",
    "edit_log",
    "editor_drafts",
    "editor_find",
    "editor_versions",
    "editor_part",
    "editor_speakers",
    "editor_conflict",
    "editor_keys",
    "editor",
    "export_menu",
    "transcript",
    "table",
    "batch",
    "folders",
    "lists",
    "dialog",
    "entries",
    "sieve",
    "tags",
    "selection",
    "finder",
    "history",
    "about",
    "models",
    "compare",
    "page",
)
"""In this order: a script uses what those before it define."""

STYLES = ("app", "editor", "compare", "history")

TITLE = "听录 · 离线中文语音转写工作台"

QUEUE_SIZE = 64
PARALLEL_EVENTS = 16
"""Handlers only hand work to the engine, so many may run side by side."""

QUEUE_REST_S = 0.02
"""How long Gradio's queue rests when nothing waits in it. Gradio's own millisecond takes a tenth of
a core for ever, from the recognizer; a click that waits this long feels immediate."""

UPLOAD_CHECK_S = 3600
"""How often the page's own copies of uploads are checked for age."""


def build_app(engine: Engine, settings: Settings) -> Any:
    """The page as ``gr.Blocks``, wired to an engine; starts nothing."""
    page = Page(engine, settings)
    with gr.Blocks(
        title=TITLE,
        analytics_enabled=False,
        fill_width=True,
        delete_cache=(UPLOAD_CHECK_S, settings.tmp_max_age_h * 3600),
    ) as demo:
        build_header(page, demo)
        job = _remembered("tinglu-job")
        pickers = ModelPickers(page)
        with gr.Tabs(elem_id="tabs", overflow_behavior="wrap") as tabs:
            with gr.Tab(label("tab_file"), id="file", render_children=True):
                others = build_file_tab(page, demo, job, pickers)
            with gr.Tab(label("tab_dictation"), id="dictation", render_children=True):
                build_dictation_tab(page, pickers)
            with gr.Tab(label("tab_batch"), id="batch", render_children=True) as batch:
                table = build_batch_tab(page, demo, batch, pickers)
            with gr.Tab(label("tab_history"), id="history", render_children=True):
                transcript, about = build_history_tab(page)
            with gr.Tab(label("tab_evaluate"), id="evaluate", render_children=True) as evaluate:
                build_evaluate_tab(page, evaluate)
            with gr.Tab(label("tab_system"), id="system", render_children=True) as system:
                build_system_tab(page, system, pickers)
        rows, timer = table
        jump = queued(trigger_mode=EACH)
        opened = [tabs, transcript, about]
        rows.open_row(guarded_event(page, history_tab.jump), None, opened, **jump)
        others.open_batch(guarded_event(page, batch_tab.jump), None, [tabs, rows, timer], **jump)
        pickers.refresh(demo.load)
    demo.queue(max_size=QUEUE_SIZE, api_open=False, default_concurrency_limit=PARALLEL_EVENTS)
    demo._queue.sleep_when_free = QUEUE_REST_S
    return demo


def _remembered(key: str) -> gr.BrowserState:
    """An id that this browser keeps. Outside the tabs, since an unseen tab reads it too late.

    The fixed secret lets the browser's copy outlive a restart; an id is nothing to hide.
    """
    return gr.BrowserState("", storage_key=key, secret=key)


def launch_kwargs(settings: Settings, routes: Sequence[BaseRoute] = ()) -> dict[str, Any]:
    """Arguments of ``Blocks.launch`` for this installation.

    Args:
        settings: of the installation.
        routes: that the server has besides those of the page.
    """
    return {
        "server_name": settings.host,
        "server_port": settings.port,
        "max_file_size": settings.max_upload_mb * 1024 * 1024,
        "allowed_paths": [str(settings.recordings), str(settings.tmp), str(SAMPLE.parent)],
        "favicon_path": ASSETS / "favicon.svg",
        "css_paths": [ASSETS / "css" / f"{name}.css" for name in STYLES],
        "head": build_head(),
        "app_kwargs": {"middleware": [Middleware(EarlyScript)], "routes": [*routes]},
        "theme": TingluTheme(),
        "i18n": build_i18n(),
        "footer_links": [],
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "show_error": False,
        "share": False,
        "pwa": False,
        "mcp_server": False,
        "inbrowser": False,
        "quiet": True,
    }


def build_head() -> str:
    """Our scripts and their texts, for the page's head."""
    table = json.dumps(script_messages(), ensure_ascii=False).replace("<", "\\u003c")
    parts = [f"window.tingluMessages = {table};"]
    parts += [(ASSETS / "js" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    scripts = "".join(f"<script>{part}</script>\n" for part in parts)
    return f'<meta name="color-scheme" content="light dark">\n{scripts}'
