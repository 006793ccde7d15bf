"""The page's outer guard: every handler's faults become sentences in the visitor's language."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gradio as gr

from asr_core.engine import Engine
from asr_core.errors import AsrError
from asr_core.messages import describe, message
from asr_core.settings import Settings
from ui.i18n import locale_of
from ui.view import View, to_json

logger = logging.getLogger(__name__)

_LOCAL = ("127.0.0.1", "::1", "::ffff:127.0.0.1")


@dataclass(frozen=True, slots=True)
class Page:
    """What every handler works with."""

    engine: Engine
    settings: Settings


def guarded(page: Page, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``handler(page, locale, *inputs)`` for Gradio; views it returns become JSON text.

    Raises:
        gr.Error: from the wrapped function, with the user's sentence. An AsrError is described
            by its code; anything else is logged under an id that the sentence names.
    """

    def call(request: gr.Request, *inputs: Any) -> Any:
        return _run(page, handler, request, inputs)

    call.__name__ = handler.__name__
    return call


def guarded_event(page: Page, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``handler(page, locale, event, *inputs)``; ``event`` maps names to what was sent."""

    def call(request: gr.Request, event: gr.EventData, *inputs: Any) -> Any:
        data = _sent(event)
        return _run(page, handler, request, (data, *inputs))

    call.__name__ = handler.__name__
    return call


def guarded_answer(page: Page, handler: Callable[..., View]) -> Callable[..., Any]:
    """Wrap ``handler(page, locale, event)`` for a script that waits for an answer to each event.

    The view bears the ``serial`` of its event. A fault is an answer too: its sentence is
    ``error``.
    """

    def call(request: gr.Request, event: gr.EventData) -> str:
        data = _sent(event)
        return _answer(page, handler, request, data, lambda locale: handler(page, locale, data))

    call.__name__ = handler.__name__
    return call


def guarded_stream(
    page: Page, handler: Callable[..., Generator[View, None, None]]
) -> Callable[..., Any]:
    """As :func:`guarded_answer`, for a generator; a fault is its last view."""

    def call(request: gr.Request, event: gr.EventData) -> Iterator[str]:
        data = _sent(event)
        with closing(
            handler(page, locale_of(request.headers, page.settings.locale), data)
        ) as views:
            while text := _answer(page, handler, request, data, lambda _: next(views, None)):
                yield text

    call.__name__ = handler.__name__
    return call


def guarded_call(page: Page, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``handler(page, locale, data)`` as a function that a script awaits.

    It returns JSON text. A fault is an answer too: ``error`` holds its ``code``, the sentence
    ``text`` and the ``details``.
    """

    def call(data: Any, request: gr.Request) -> str:
        try:
            sent = data if isinstance(data, dict) else {}
            return str(_run(page, handler, request, (sent,)))
        except gr.Error as exc:
            fault = {"code": "internal", "text": str(exc.message), "details": {}}
            if isinstance(exc.__cause__, AsrError):
                fault |= {"code": exc.__cause__.code, "details": dict(exc.__cause__.details)}
            return to_json({"error": fault})

    call.__name__ = handler.__name__
    return call


def may_administer(request: gr.Request) -> bool:
    """Whether a visitor may change the installation.

    There is no log-in: it is whoever sits at the server itself, not behind a proxy.
    """
    forwarded = any(name in request.headers for name in ("x-forwarded-for", "forwarded"))
    host = getattr(request.client, "host", "")
    return not forwarded and host in _LOCAL


def guarded_admin(page: Page, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``handler(page, locale, event, *inputs)``, for visitors who may administer.

    Raises:
        gr.Error: from the wrapped function; a refusal for everybody else.
    """

    def call(request: gr.Request, event: gr.EventData, *inputs: Any) -> Any:
        if not may_administer(request):
            raise refusal("page.admin_only", locale_of(request.headers, page.settings.locale))
        data = _sent(event)
        return _run(page, handler, request, (data, *inputs))

    call.__name__ = handler.__name__
    return call


def guarded_with_rights(page: Page, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``handler(page, locale, may_administer)``, which shows what the visitor may change."""

    def call(request: gr.Request) -> Any:
        return _run(page, handler, request, (may_administer(request),))

    call.__name__ = handler.__name__
    return call


def refusal(key: str, locale: str) -> gr.Error:
    """What to raise when the visitor has to do something first; ``key`` names the sentence."""
    return gr.Error(
        message(key, locale),
        title=message("page.hint_title", locale),
        print_exception=False,
        duration=6,
    )


def _run(
    page: Page, handler: Callable[..., Any], request: gr.Request, values: tuple[Any, ...]
) -> Any:
    locale = locale_of(request.headers, page.settings.locale)
    try:
        return _for_browser(handler(page, locale, *values))
    except AsrError as exc:
        logger.info("refused handler=%s code=%s", handler.__name__, exc.code)
        raise _shown(describe(exc, locale), locale) from exc
    except gr.Error:
        raise
    except Exception as exc:
        error_id = secrets.token_hex(4)
        logger.exception("failed handler=%s error_id=%s", handler.__name__, error_id)
        raise _shown(message("error.internal", locale, error_id=error_id), locale) from exc


def _sent(event: gr.EventData) -> Mapping[str, Any]:
    return event._data if isinstance(event._data, dict) else {}


def _answer(
    page: Page,
    handler: Callable[..., Any],
    request: gr.Request,
    data: Mapping[str, Any],
    step: Callable[[str], View | None],
) -> str:
    """What one step of a handler gives for an event, or its fault; empty at the end."""
    serial = data.get("serial")

    def numbered(_page: Page, locale: str) -> View | None:
        view = step(locale)
        return None if view is None else {**view, "serial": serial}

    numbered.__name__ = handler.__name__
    try:
        return _run(page, numbered, request, ()) or ""
    except gr.Error as exc:
        return to_json({"error": str(exc.message), "serial": serial})


def _for_browser(result: Any) -> Any:
    """Views as JSON text; Gradio's own updates and plain values as they are."""
    if isinstance(result, tuple):
        return tuple(map(_for_browser, result))
    is_view = isinstance(result, dict) and "__type__" not in result
    return to_json(result) if is_view else result


def _shown(sentence: str, locale: str) -> gr.Error:
    return gr.Error(
        sentence, title=message("page.error_title", locale), print_exception=False, duration=12
    )
