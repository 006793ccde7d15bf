"""Python, its packages, and those that have to fit each other."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from asr_core.doctor.context import Context
from asr_core.doctor.finding import Finding, fail, listed, none, ok, warn
from asr_core.doctor.versions import version_key

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements.txt"

_OLDEST, _TOO_NEW = (3, 10), (3, 13)


def check_python(context: Context) -> Finding:
    version = ".".join(map(str, context.host.python))
    mend = "sudo apt install python3.12-venv && rm -r .venv && ./run.sh help"
    if context.host.python < _OLDEST:
        return fail("python", "old", mend, version=version)
    if context.host.python >= _TOO_NEW:
        return warn("python", "new", mend, version=version)
    return ok("python", "fits", version=version)


def check_packages(context: Context) -> Finding:
    from packaging.requirements import InvalidRequirement, Requirement

    environment = {"python_version": ".".join(map(str, context.host.python[:2]))}
    wrong, count = [], 0
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        try:
            wanted = Requirement(line.partition("#")[0].strip())
        except InvalidRequirement:
            continue
        if wanted.marker and not wanted.marker.evaluate(environment):
            continue
        count += 1
        version = context.host.package(wanted.name)
        if not version or not wanted.specifier.contains(version, prereleases=True):
            wrong.append(f"{wanted.name} {version or '–'} ({wanted.specifier})")
    if wrong:
        install = (
            f"{shlex.quote(sys.executable)} -m pip install -r {shlex.quote(REQUIREMENTS.name)}"
        )
        return fail("packages", "wrong", install, names=listed(wrong))
    return ok("packages", "fit", count=count)


def check_numpy(context: Context) -> Finding:
    numpy, mindspore = context.host.package("numpy"), context.host.package("mindspore")
    if not mindspore:
        return none("numpy", "no_mindspore", numpy=numpy or "–")
    if version_key(numpy)[:1] >= ((1, 2),):
        mend = f"{shlex.quote(sys.executable)} -m pip install 'numpy>=1.26,<2'"
        return fail("numpy", "two", mend, numpy=numpy, mindspore=mindspore)
    return ok("numpy", "fits", numpy=numpy, mindspore=mindspore)


CHECKS = (check_python, check_packages, check_numpy)
