"""Start the page: settings, logging, engine, and the page on one port."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence

from asr_core.engine import Engine
from asr_core.errors import AsrError, SettingsError
from asr_core.messages import describe
from asr_core.runtime.ascend_acl import end_acl
from asr_core.settings import Settings

EXIT_FAILED, EXIT_USAGE = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns 0, 1 when it cannot serve, 2 for bad settings."""
    parser = argparse.ArgumentParser(prog="app.py", description="Serve the transcription page.")
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", help="port of the page (default 7860)")
    parser.add_argument("--device", help="auto, cpu, npu or npu:N (default auto)")
    chosen = vars(parser.parse_args(argv))
    try:
        settings = Settings.from_env(os.environ, **chosen)
    except SettingsError as exc:
        return _refuse(exc, "zh-CN", EXIT_USAGE)
    logging.basicConfig(
        level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return _serve(settings)
    except AsrError as exc:
        return _refuse(exc, settings.locale, EXIT_FAILED)
    finally:
        end_acl()


def _serve(settings: Settings) -> int:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ["GRADIO_TEMP_DIR"] = str(settings.tmp / "page")
    # Gradio asks its own server whether it is up; a proxy must not take that request.
    os.environ["NO_PROXY"] = f"127.0.0.1,localhost,{os.environ.get('NO_PROXY', '')}"
    from asr_core.service.metrics import metrics_route
    from ui.address import check_address, page_urls
    from ui.app import build_app, launch_kwargs

    check_address(settings.host, settings.port)
    with Engine(settings) as engine:
        engine.start()
        demo = build_app(engine, settings)
        demo.launch(**launch_kwargs(settings, [metrics_route(engine)]), prevent_thread_lock=True)
        sys.stdout.write("".join(f"听录 / Tinglu: {url}\n" for url in page_urls(settings)))
        sys.stdout.flush()
        stop.wait()
        demo.close(verbose=False)
    return 0


def _refuse(error: AsrError, locale: str, code: int) -> int:
    sys.stderr.write(f"{describe(error, locale)}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
