"""A script that the browser runs before any of Gradio's.

Gradio picks the page's language while its first module loads, earlier than the scripts that
``launch(head=)`` brings, and knows Chinese only as zh-CN and zh-TW. Whoever reads Chinese of
another region, or plain ``zh``, would get the English page.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CHOOSE_LANGUAGE = """<script>
(() => {
  const locale = navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
  Object.defineProperty(navigator, "language", { configurable: true, get: () => locale });
})();
</script>"""

_PLACE = b"<head>"


class EarlyScript:
    """ASGI middleware that writes ``script`` at the top of the head of HTML pages."""

    def __init__(self, app: ASGIApp, script: str = CHOOSE_LANGUAGE) -> None:
        self._app = app
        self._script = script.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Rewriter(send, self._script))


class _Rewriter:
    """Holds back an HTML answer until it is complete; lets every other one pass."""

    def __init__(self, send: Send, script: bytes) -> None:
        self._send = send
        self._script = script
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        body = self._body.replace(_PLACE, _PLACE + self._script, 1)
        MutableHeaders(scope=start)["content-length"] = str(len(body))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})


def _is_page(start: Message) -> bool:
    headers = MutableHeaders(scope=start)
    return headers.get("content-type", "").startswith("text/html") and (
        "content-encoding" not in headers
    )
