"""Faults become sentences for people; nothing internal reaches the browser."""

from __future__ import annotations

import logging
import re

import gradio as gr
import pytest

from asr_core.errors import RecordNotFoundError
from ui.guard import guarded, guarded_admin, guarded_event, guarded_with_rights
from ui.i18n import locale_of


class Client:
    def __init__(self, host):
        self.host = host


class Request:
    def __init__(self, language, host="127.0.0.1", **headers):
        self.headers = {"accept-language": language, **headers}
        self.client = Client(host)


class Event:
    def __init__(self, **data):
        self._data = data


def missing(page, locale):
    raise RecordNotFoundError("no record 7", id="7")


def broken(page, locale):
    raise ZeroDivisionError("secret detail")


def echo(page, locale, *values):
    return " ".join(map(str, (locale, *values)))


@pytest.mark.parametrize(
    ("language", "sentence", "title"),
    [
        ("zh-CN", "这条记录已不存在", "出错了"),
        ("en-GB", "This record no longer exists", "Something"),
    ],
)
def test_known_fault_is_said_in_the_visitors_language(page, language, sentence, title):
    with pytest.raises(gr.Error, match=sentence) as caught:
        guarded(page, missing)(Request(language))
    assert caught.value.title.startswith(title)
    assert caught.value.print_exception is False


def test_unexpected_fault_is_logged_under_the_number_that_is_shown(page, caplog):
    with caplog.at_level(logging.ERROR), pytest.raises(gr.Error) as caught:
        guarded(page, broken)(Request("zh-CN"))
    number = re.search(r"编号 (\w{8})", caught.value.message).group(1)
    assert "secret detail" not in caught.value.message
    assert f"error_id={number}" in caplog.text
    assert "ZeroDivisionError: secret detail" in caplog.text


def test_views_become_text_and_updates_stay(page):
    def show(page, locale):
        return {"state": "empty"}, gr.skip(), None

    assert guarded(page, show)(Request("en")) == ('{"state":"empty"}', gr.skip(), None)


def test_inputs_and_event_data_reach_the_handler(page):
    event = gr.EventData(None, {"id": "7"})
    assert guarded_event(page, echo)(Request("en"), event, 1) == "en {'id': '7'} 1"


def test_gradio_passes_request_and_event_to_wrapped_handlers(page):
    from gradio.helpers import special_args

    request, event = gr.Request(), gr.EventData(None, {})
    inputs, *_ = special_args(guarded_event(page, echo), [1], request, event)
    assert inputs[0] is request
    assert isinstance(inputs[1], gr.EventData)
    assert inputs[2:] == [1]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN"),
        ("zh-TW", "zh-CN"),
        ("zh", "zh-CN"),
        ("en-US,en;q=0.9", "en"),
        ("de-DE", "en"),
        ("", "zh-CN"),
        ("*", "zh-CN"),
    ],
)
def test_language_of_a_visitor(header, expected):
    assert locale_of({"accept-language": header}, "zh-CN") == expected


@pytest.mark.parametrize(
    ("host", "headers", "may"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("192.168.1.7", {}, False),
        ("127.0.0.1", {"x-forwarded-for": "192.168.1.7"}, False),
        ("127.0.0.1", {"forwarded": "for=192.168.1.7"}, False),
    ],
)
def test_only_who_sits_at_the_server_may_change_the_installation(page, host, headers, may):
    request = Request("en", host, **headers)
    assert guarded_with_rights(page, echo)(request) == f"en {may}"
    change = guarded_admin(page, echo)
    if may:
        assert change(request, Event(name="x")) == "en {'name': 'x'}"
    else:
        with pytest.raises(gr.Error, match="on the server itself only"):
            change(request, Event(name="x"))
