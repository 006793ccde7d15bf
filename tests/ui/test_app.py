"""The whole page as it is served: what it exposes, what it loads, what it refuses."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from asr_core.engine import Engine
from asr_core.settings import Settings
from tests.application import ROOT, Application, unused_port
from ui import address
from ui.app import build_app, build_head, launch_kwargs
from ui.guard import Page
from ui.handlers.models import vad_choices
from ui.middleware import EarlyScript


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The page without a model."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "no-model").mkdir()
    application = Application(folder / "home", folder / "no-model", unused_port())
    application.start()
    yield application
    application.stop()


@pytest.fixture
def demo(engine, settings) -> gr.Blocks:
    """Built inside an event loop: outside of one, Gradio opens loops and leaves them open."""

    async def build():
        return build_app(engine, settings)

    return asyncio.run(build())


def test_no_endpoint_is_offered_to_scripts(demo):
    info = demo.get_api_info()
    assert (info["named_endpoints"], info["unnamed_endpoints"]) == ({}, {})


def test_every_event_is_private(demo):
    assert {fn.api_visibility for fn in demo.fns.values()} == {"private"}


def test_polling_never_waits_in_the_queue(demo):
    ticks = [fn for fn in demo.fns.values() if any(t[1] == "tick" for t in fn.targets)]
    assert len(ticks) == 5
    assert not any(fn.queue for fn in ticks)


def test_no_event_with_data_of_its_own_waits_for_another(demo):
    """Gradio would send the data of the other once more."""
    waiting = [fn for fn in demo.fns.values() if fn.trigger_mode == "always_last"]
    assert waiting
    assert {name for fn in waiting for _, name in fn.targets} <= {"change", "select"}
    assert all(fn.inputs for fn in waiting)


def test_queue_rests_while_nothing_waits(demo):
    assert "sleep_when_free" in type(demo._queue).start_processing.__code__.co_names
    assert 0.01 <= demo._queue.sleep_when_free <= 0.05


def test_next_recording_can_be_asked_for_while_an_earlier_one_is_decoded(demo):
    for name in ("playback", "outline"):
        asked = [fn for fn in demo.fns.values() if any(t[1] == name for t in fn.targets)]
        assert [fn.trigger_mode for fn in asked] == ["multiple"] * 2


@pytest.mark.parametrize(
    ("installed", "vad", "offered"),
    [
        (False, "silero", ["auto", "off"]),
        (True, "silero", ["auto", "fsmn", "off"]),
        (True, "fsmn", ["auto", "silero", "off"]),
        (True, "off", ["auto", "silero", "fsmn", "off"]),
    ],
)
def test_only_installed_detectors_are_offered(tmp_path, installed, vad, offered):
    chosen = Settings(home=tmp_path, vad=vad)
    if installed:
        folder = chosen.models / "fsmn-vad"
        folder.mkdir(parents=True)
        (folder / "config.yaml").touch()
    with Engine(chosen) as engine:
        assert vad_choices(Page(engine, chosen)) == offered


def test_launch_is_private_offline_and_narrow(settings):
    kwargs = launch_kwargs(settings)
    for name in ("share", "run_history", "enable_monitoring", "ssr_mode", "show_error"):
        assert kwargs[name] is False
    assert kwargs["max_file_size"] == settings.max_upload_mb * 1024 * 1024
    folders = [Path(path) for path in kwargs["allowed_paths"]]
    assert settings.home not in folders
    assert all(folder.is_absolute() and len(folder.parts) > 2 for folder in folders)


def test_head_and_styles_ask_no_other_host():
    styles = (ROOT / "assets" / "css").glob("*.css")
    texts = [build_head(), *(style.read_text(encoding="utf-8") for style in styles)]
    for text in texts:
        hosts = set(re.findall(r"https?://([\w.-]+)", text))
        assert hosts <= {"127.0.0.1"}
        assert not re.search(r"url\(|@import|\bsrc=", text)


def test_scripts_put_texts_into_the_page_as_text_only():
    scripts = (ROOT / "assets" / "js").glob("*.js")
    for script in scripts:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b",
            script.read_text(encoding="utf-8"),
        )


def test_templates_hold_no_values(demo):
    for block in demo.blocks.values():
        if isinstance(block, gr.HTML):
            assert not re.search(r"\$\{|\{\{", block.html_template)


def test_building_the_page_loads_no_model_runtime(tmp_path):
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from asr_core.engine import Engine\n"
        "from asr_core.settings import Settings\n"
        "from ui.app import build_app\n"
        f"settings = Settings(home=Path({str(tmp_path)!r}))\n"
        "with Engine(settings) as engine:\n"
        "    build_app(engine, settings)\n"
        "heavy = {'mindspore', 'ctranslate2', 'faster_whisper', 'onnxruntime', 'av', 'pypinyin'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_served_page_keeps_other_files_and_run_lists_to_itself(served):
    settings = served.settings
    secret = settings.database
    assert secret.is_file()
    kept = settings.recordings / "a.wav"
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(b"RIFF")
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.get("/").status_code == 200
        assert client.get(f"/gradio_api/file={kept}").status_code == 200
        assert client.get(f"/gradio_api/file={secret}").status_code == 403
        assert client.get("/gradio_api/file=/etc/passwd").status_code == 403
        assert client.get("/monitoring").status_code == 403
        assert client.get("/gradio_api/runs").status_code == 404


def test_metrics_are_served_beside_the_page(served):
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        answer = client.get("/metrics")
        assert client.post("/metrics").status_code == 405
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    found = {family.name: family for family in text_string_to_metric_families(answer.text)}
    states = {one.labels["state"]: one.value for one in found["tinglu_jobs"].samples}
    assert states["queued"] == 0
    assert found["process_resident_memory_bytes"].samples[0].value > 1e7


def test_port_in_use_is_told_apart_from_a_wrong_address(served):
    with pytest.raises(address.PortInUseError):
        address.check_address("127.0.0.1", served.port)
    with pytest.raises(address.AddressError):
        address.check_address("192.0.2.1", served.port)


def test_addresses_for_people():
    home = Path("/tmp/home")  # noqa: S108 - nothing is written there
    assert address.page_urls(Settings(home=home)) == ["http://127.0.0.1:7860"]
    everywhere = address.page_urls(Settings(home=home, host="0.0.0.0", port=80))  # noqa: S104
    assert everywhere[0] == "http://127.0.0.1:80"
    assert not any("//0." in url for url in everywhere)
    assert address.page_urls(Settings(home=home, host="::1")) == ["http://[::1]:7860"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--port", "abc"], "ASR_PORT"), (["--device", "gpu"], "ASR_DEVICE")],
)
def test_bad_settings_are_one_plain_line(arguments, words, tmp_path):
    done = subprocess.run(
        [sys.executable, "app.py", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"ASR_HOME": str(tmp_path), "PATH": ""},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_port_in_use_is_one_plain_line(served, tmp_path):
    settings = served.settings
    done = subprocess.run(
        [sys.executable, "app.py", "--port", str(settings.port)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"ASR_HOME": str(tmp_path), "PATH": ""},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"端口 {settings.port} 已被别的程序占用，请用 --port 或 ASR_PORT 换一个\n"


async def answer(content_type: bytes, body: bytes) -> dict[str, object]:
    """What a browser gets for an answer that goes through the early script."""

    async def app(scope, receive, send):
        headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body[:5], "more_body": True})
        await send({"type": "http.response.body", "body": body[5:]})

    sent = []

    async def send(message):
        sent.append(message)

    await EarlyScript(app, "<script>1</script>")({"type": "http", "method": "GET"}, None, send)
    length = dict(sent[0]["headers"])[b"content-length"]
    return {
        "body": b"".join(m["body"] for m in sent[1:]),
        "length": int(length),
        "parts": len(sent),
    }


def test_early_script_goes_to_the_top_of_pages_and_nowhere_else():
    page = asyncio.run(answer(b"text/html; charset=utf-8", b"<html><head><title>"))
    assert page["body"] == b"<html><head><script>1</script><title>"
    assert page["length"] == len(page["body"])
    other = asyncio.run(answer(b"text/plain", b"<html><head><title>"))
    assert (other["body"], other["parts"]) == (b"<html><head><title>", 3)
