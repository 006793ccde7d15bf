"""Which CANN the environment names."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.runtime.cann import UNKNOWN, cann_version


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
@pytest.mark.parametrize(
    ("file", "content", "version"),
    [
        ("compiler/version.info", "Version=8.0.0\ntimestamp=1\n", "8.0.0"),
        ("version.cfg", "# made\nversion = 8.3.RC1\n", "8.3.RC1"),
        ("runtime/version.info", "nothing here\n", UNKNOWN),
    ],
)
def test_the_version_is_read(
    tmp_path: Path, variable: str, file: str, content: str, version: str
) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    assert cann_version({variable: str(tmp_path)}) == version


@pytest.mark.parametrize("environ", [{}, {"ASCEND_HOME_PATH": "/nowhere"}])
def test_without_cann_it_is_unknown(environ: dict[str, str]) -> None:
    assert cann_version(environ) == UNKNOWN
