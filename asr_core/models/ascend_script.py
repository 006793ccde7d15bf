"""The script that makes the OM files of a prepared folder.

It needs the folder, ``atc`` with its CANN, and the usual commands of a Linux system. An OM appears
under its name when it is whole, so the script goes on where an earlier run ended. At the end it
fills the manifests: what stands there as ``"@sha256 NAME@"``, ``"@size NAME@"`` and ``"@cann@"``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from asr_core.messages import message
from asr_core.models.ascend_plan import MAKING, OmJob
from asr_core.models.convert_target import UNFINISHED

SCRIPT_FILE = "convert.sh"
FAILED, NO_ATC, TIMED_OUT, BUSY = 3, 4, 5, 6
"""Exit codes: of a graph, or before any."""

CANN = "@cann@"
SHOWN_LINES = 20
"""Of the end of a log."""

DEFAULT_TIMEOUT_S = 4 * 3600

REASONS: Mapping[str, tuple[str, ...]] = {
    "atc_domains": ("E16005",),
    "atc_gears": ("E10035", "E10040", "E10041", "E10045", "E10046"),
    "atc_operator": ("E19010", "E10501"),
    "atc_python": ("E40002", "E40020"),
    "atc_arguments": ("E100", "E104"),
}
"""Reasons of ``ConvertError`` by the text codes of ``atc``, the first that fits; else ``atc``."""

_CODE = r"\bE[0-9E][0-9]{4}\b"

_HEAD = r"""#!/usr/bin/env bash
# __ABOUT__
set -euo pipefail

ATC="${ATC:-atc}"
TIMEOUT_S="${ATC_TIMEOUT_S:-__TIMEOUT__}"

cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")"

atc_pid=""
trap 'if [[ -n "$atc_pid" ]]; then kill "$atc_pid"; fi; exit 130' INT TERM

say() { printf '%s\n' "$*" >&2; }

# Two runs would write the same files.
exec 9<"${BASH_SOURCE[0]##*/}"
if command -v flock >/dev/null && ! flock -n 9; then
  say __BUSY__
  exit __BUSY_CODE__
fi

# CANN's own script is no strict one.
if ! command -v "$ATC" >/dev/null; then
  for script in /usr/local/Ascend/cann/set_env.sh /usr/local/Ascend/ascend-toolkit/set_env.sh; do
    if [[ -r "$script" ]]; then
      set +eu
      # shellcheck disable=SC1090
      source "$script"
      set -eu
      break
    fi
  done
fi
if ! command -v "$ATC" >/dev/null; then
  say __NO_ATC__
  exit __NO_ATC_CODE__
fi

cann() {
  local home="${ASCEND_HOME_PATH:-${ASCEND_TOOLKIT_HOME:-}}" file version
  for file in compiler/version.info runtime/version.info version.cfg version.info; do
    if [[ -n "$home" && -r "$home/$file" ]]; then
      version="$(sed -nE 's/^[Vv]ersion=([A-Za-z0-9._-]+).*$/\1/p' "$home/$file")"
      version="${version%%$'\n'*}"
      if [[ -n "$version" ]]; then
        printf '%s' "$version"
        return
      fi
    fi
  done
  printf '?'
}

# explain NAME: what to do, by the first code in the log.
explain() {
  local text
  # shellcheck disable=SC2016
  case "$(grep -oE '__CODE__' "$1.log" | head -n 1 || true)" in
__REMEDIES__
    *) text=__REMEDY__ ;;
  esac
  text="${text//\{graph\}/$1}"
  say "${text//\{log\}/$PWD/$1.log}"
}

# make NUMBER NAME ARGUMENT...
make() {
  local number="$1" name="$2" status=0 made
  shift 2
  if [[ -s "$name.om" ]]; then
    say "$number $name.om: "__THERE__
    return
  fi
  say "$number $name.om"
  rm -rf -- __MAKING__
  mkdir -- __MAKING__
  timeout -k 30 "$TIMEOUT_S" "$ATC" "$@" >"$name.log" 2>&1 </dev/null &
  atc_pid=$!
  wait "$atc_pid" || status=$?
  atc_pid=""
  # For another machine, and for free shapes, atc adds that machine to the name.
  made="$(find __MAKING__ -maxdepth 1 -name "$name*.om" -size +0 | head -n 1)"
  if ((status == 0)) && [[ -n "$made" ]]; then
    mv -f -- "$made" "$name.om"
    return
  fi
  tail -n __LINES__ -- "$name.log" >&2
  if ((status == 124 || status == 137)); then
    say "$name.om: "__TIMED_OUT__
    exit __TIMEOUT_CODE__
  fi
  explain "$name"
  exit __FAILED_CODE__
}

# seal FILE: write FILE from FILE__UNFINISHED__.
seal() {
  local line file hash
  while IFS= read -r line || [[ -n "$line" ]]; do
    if [[ "$line" =~ ^(.*)\"@(sha256|size)\ ([A-Za-z0-9._-]+)@\"(.*)$ ]]; then
      file="${BASH_REMATCH[3]}"
      if [[ "${BASH_REMATCH[2]}" == size ]]; then
        line="${BASH_REMATCH[1]}$(stat -c %s -- "$file")${BASH_REMATCH[4]}"
      else
        hash="$(sha256sum -- "$file")"
        line="${BASH_REMATCH[1]}\"${hash:0:64}\"${BASH_REMATCH[4]}"
      fi
    fi
    printf '%s\n' "${line/@cann@/$CANN}"
  done <"$1__UNFINISHED__" >".$1.part"
  mv -f -- ".$1.part" "$1"
}

CANN="$(cann)"
say "CANN $CANN"
"""


def script(jobs: Sequence[OmJob], manifests: Sequence[str], locale: str) -> str:
    """The text of the script.

    Args:
        jobs: calls of ``atc``.
        manifests: names of the files that it fills, the one that names the others last.
        locale: of what it says.
    """

    def said(key: str) -> str:
        return shlex.quote(message(f"convert.script_{key}", locale))

    def remedy(reason: str) -> str:
        key = f"error.convert.{reason}"
        return shlex.quote(message(key, locale, graph="{graph}", log="{log}"))

    values = {
        "__ABOUT__": message("convert.script_about", locale),
        "__TIMEOUT__": str(DEFAULT_TIMEOUT_S),
        "__BUSY__": said("busy"),
        "__BUSY_CODE__": str(BUSY),
        "__NO_ATC__": said("no_atc"),
        "__NO_ATC_CODE__": str(NO_ATC),
        "__CODE__": _CODE,
        "__REMEDIES__": "\n".join(
            f"    {' | '.join(f'{code}*' for code in codes)}) text={remedy(reason)} ;;"
            for reason, codes in REASONS.items()
        ),
        "__REMEDY__": remedy("atc"),
        "__THERE__": said("there"),
        "__LINES__": str(SHOWN_LINES),
        "__TIMED_OUT__": said("timed_out"),
        "__TIMEOUT_CODE__": str(TIMED_OUT),
        "__FAILED_CODE__": str(FAILED),
        "__MAKING__": MAKING,
        "__UNFINISHED__": UNFINISHED,
    }
    text = _HEAD
    for name, value in values.items():
        text = text.replace(name, value)
    lines = [text]
    for number, job in enumerate(jobs, start=1):
        command = shlex.join(["make", f"{number}/{len(jobs)}", job.name, *job.arguments])
        lines.append(f"{command}\n")
    lines += [f"seal {shlex.quote(name)}\n" for name in manifests]
    lines.append(f"rm -rf -- {MAKING} kernel_meta fusion_result.json\n")
    lines.append(f'say {said("done")}" $PWD"\n')
    return "".join(lines)


def reason_of(text: str) -> str:
    """Which of :data:`REASONS` the output of ``atc`` tells by its first code."""
    found = re.search(_CODE, text)
    for reason, codes in REASONS.items():
        if found and found[0].startswith(codes):
            return reason
    return "atc"


def marks(file: str) -> dict[str, str]:
    """What stands for the hash and the size of a file until they are known."""
    return {"sha256": f"@sha256 {file}@", "size_bytes": f"@size {file}@"}
