"""Every return code of pyACL has a name, a kind and words for people."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from asr_core.errors import (
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceMismatchError,
    DeviceUnavailableError,
)
from asr_core.messages import LOCALES, describe
from asr_core.runtime.ascend_acl import Acl, device_error
from asr_core.runtime.ascend_codes import Kind, kind_of, known_codes, name_of

CALLER = [
    *(100000, 100001, 100002, 100009, 100010, 100011, 100019, 100020, 100021, 100022, 100023),
    *range(100028, 100039),
    *range(100040, 100046),
    *(148046, 148047, 148048, 148051, 148053, 200003, 200004, 200005, 300000, 345104),
    *(145000, 145001, 145003, 145007, 145008, 145009, *range(145011, 145023)),
    *(107000, 107002, 107003, 107004, 107005, 107008, 107016, 107017, 107018, 107037),
]
MODEL = [
    *range(100003, 100009),
    *range(100012, 100019),
    *(100024, 100025, 145002, 145006, *range(545001, 545006)),
]
UNSUPPORTED = [100026, 100027, 148050, 148052, 200001, 200006, 200007, 207000]
MEMORY = [200000, 207001, 207018, 245000]
RESOURCE = [245001, 245002, 207002, 207005, *range(207007, 207013), 207015]
LOST = [
    *(107019, 107020, 107022, 107023, 207020, 345102, 545601, 545602),
    *(507001, 507010, *range(507012, 507019), *range(507033, 507037)),
    *(*range(507046, 507058), 507899, 507900, 507901),
]
ENVIRONMENT = [100039, 107001, 148049, 200002, 207004, 207006]
INTERNAL = [
    *(*range(500000, 500006), 345103, 545000, 545006, 545007, 545008, 545009),
    *(207003, 207016, 207017, 507000, 507011, 507022),
]
MISMATCH = [507008]

EXPECTED = {
    **dict.fromkeys(CALLER, (Kind.CALLER, DeviceError)),
    **dict.fromkeys(MODEL, (Kind.MODEL, DeviceError)),
    **dict.fromkeys(UNSUPPORTED, (Kind.UNSUPPORTED, DeviceError)),
    **dict.fromkeys(MEMORY, (Kind.MEMORY, DeviceMemoryError)),
    **dict.fromkeys(RESOURCE, (Kind.RESOURCE, DeviceError)),
    **dict.fromkeys(LOST, (Kind.LOST, DeviceLostError)),
    **dict.fromkeys(ENVIRONMENT, (Kind.ENVIRONMENT, DeviceUnavailableError)),
    **dict.fromkeys(INTERNAL, (Kind.INTERNAL, DeviceError)),
    **dict.fromkeys(MISMATCH, (Kind.MISMATCH, DeviceMismatchError)),
}


def test_every_code_is_expected_here() -> None:
    assert sorted(known_codes()) == sorted(EXPECTED)


@pytest.mark.parametrize("number", sorted(EXPECTED))
def test_each_code_becomes_a_typed_error(number: int) -> None:
    kind, error_class = EXPECTED[number]
    assert kind_of(number) is kind
    error = device_error("npu:1", number, "acl.mdl.execute", "E19999: inner error")
    assert type(error) is error_class
    assert error.details["number"] == number
    assert error.details["name"] == name_of(number)
    assert re.fullmatch(r"ACL_ERROR_[A-Z0-9_]*[A-Z][A-Z0-9_]*", name_of(number))
    assert error.details["text"] == "E19999: inner error"
    for said in (str(error), *(describe(error, locale) for locale in LOCALES)):
        assert "npu:1" in said
        assert "{" not in said


REMEDIES = {
    Kind.CALLER: "report this text",
    Kind.MODEL: "Convert the model again",
    Kind.UNSUPPORTED: "fixed shapes, or update CANN",
    Kind.MEMORY: "fewer segments together, or end other programs",
    Kind.RESOURCE: "End other programs",
    Kind.LOST: "npu-smi info; work goes on when it is back",
    Kind.ENVIRONMENT: "./run.sh doctor",
    Kind.INTERNAL: "$HOME/ascend/log",
}


@pytest.mark.parametrize("number", sorted(set(EXPECTED) - set(MISMATCH)))
def test_each_code_comes_with_its_remedy(number: int) -> None:
    error = device_error("npu:1", number, "acl.mdl.execute", "")
    assert REMEDIES[EXPECTED[number][0]] in describe(error, "en")


@pytest.mark.parametrize("number", sorted(set(EXPECTED) - set(MISMATCH)))
@pytest.mark.parametrize("locale", LOCALES)
def test_people_read_the_code_and_its_name(number: int, locale: str) -> None:
    error = device_error("npu:1", number, "acl.mdl.execute", "")
    said = describe(error, locale)
    assert str(number) in said
    assert name_of(number) in said


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (100000, "ACL_ERROR_INVALID_PARAM"),
        (145013, "ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID"),
        (207001, "ACL_ERROR_RT_MEMORY_ALLOCATION"),
        (507015, "ACL_ERROR_RT_AICORE_EXCEPTION"),
        (999999, "ACL_ERROR_999999"),
    ],
)
def test_names(number: int, name: str) -> None:
    assert name_of(number) == name


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (107500, Kind.CALLER),
        (207500, Kind.RESOURCE),
        *((number, Kind.INTERNAL) for number in range(507902, 507917)),
        (999999, Kind.INTERNAL),
    ],
)
def test_codes_of_later_versions_are_classed_by_their_range(number: int, kind: Kind) -> None:
    assert kind_of(number) is kind
    assert name_of(number) == f"ACL_ERROR_{number}"
    error = device_error("npu:0", number, "acl.rt.malloc", "")
    assert (type(error), error.details["reason"]) == (DeviceError, kind.value)


@pytest.mark.parametrize("number", [500002, 545001, 100000])
def test_a_file_for_another_chip_is_recognized_by_the_words(number: int) -> None:
    text = (
        "EE1001: ModelCheckCompatibility failed, supported socVersion=Ascend910B2, "
        "but the model socVersion=Ascend910B"
    )
    error = device_error("npu:0", number, "acl.mdl.load_from_file", text)
    assert isinstance(error, DeviceMismatchError)
    assert (error.details["soc"], error.details["model_soc"]) == ("Ascend910B2", "Ascend910B")


def test_the_text_of_the_runtime_is_taken_once_and_on_one_line() -> None:
    texts = ["first\n  second\n", None]
    module = SimpleNamespace(get_recent_err_msg=lambda: texts.pop(0))
    acl = Acl(module, "npu:0")
    assert acl.error(500000, "acl.rt.free").details["text"] == "first second"
    assert acl.error(500000, "acl.rt.free").details["text"] == ""


def test_a_function_that_this_version_lacks_is_named() -> None:
    acl = Acl(SimpleNamespace(rt=SimpleNamespace()), "npu:0")
    assert not acl.has("acl.rt.malloc")
    with pytest.raises(DeviceError, match=r"no acl\.rt\.malloc; update CANN") as caught:
        acl.do("acl.rt.malloc", 1, 0)
    assert caught.value.details["reason"] == "unsupported"
