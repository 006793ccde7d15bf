"""The page: its tabs, what they do, and its texts.

Gradio is imported here, before any module of the page, because its import would read the source of
each of its components again and write stub files for editors into the installation: about two of
the six seconds that the page takes to start, and a write to a folder that may be read-only.
"""

from __future__ import annotations

import inspect


def _import_gradio() -> None:
    """Gradio writes no stubs for a class without a source file, which it learns from OSError."""
    find = inspect.getfile

    def getfile(thing: object) -> str:
        if isinstance(thing, type) and thing.__module__.startswith("gradio."):
            raise OSError(f"{thing.__qualname__} needs no stub file")
        return find(thing)  # type: ignore[arg-type]

    inspect.getfile = getfile  # type: ignore[assignment]
    try:
        import gradio  # noqa: F401
    finally:
        inspect.getfile = find


_import_gradio()
