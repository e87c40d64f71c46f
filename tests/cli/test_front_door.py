"""What `socsim` does before a command runs: help, versions, typos, exit codes, and what a start may load."""

import subprocess
import sys

import pytest

import socsim
from socsim import cli as front_door
from socsim import commands
from socsim.errors import DeadlockError

HEAVY = {"numpy", "pandas", "pyarrow", "pydantic", "plotly", "simpy", "rich", "yaml", "jinja2", "scipy"}
NAMES = [command.name for command in commands.available()]


def loaded_by(*arguments):
    """The top-level packages that a command imports in a process of its own, beyond an empty process's.

    Where coverage is measured, it is in both.
    """
    return packages_of("-m", "socsim", *arguments) - packages_of("-c", "pass")


def packages_of(*arguments):
    done = subprocess.run([sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True)
    lines = (line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.split(".")[0] for line in lines}


def test_help_names_every_command_that_works(cli):
    done = cli("--help")
    assert done.code == 0
    assert done.err == ""
    for name in ("run", "show", "list", "check", "schema", "trace", "new", "doctor", "completion"):
        assert f"\n  {name} " in done.out
    assert "==SUPPRESS==" not in done.out


def test_help_loads_nothing_heavy():
    assert HEAVY.isdisjoint(loaded_by("--help"))
    assert "dataclasses" not in loaded_by("--help")


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command_loads_nothing_heavy(name):
    assert HEAVY.isdisjoint(loaded_by(name, "--help"))


def test_names_for_completion_load_nothing_heavy():
    assert HEAVY.isdisjoint(loaded_by("list", "models", "--quiet"))


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(cli, name):
    done = cli(name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: socsim {name}")
    assert "--quiet" in done.out


def test_version(cli):
    assert cli("--version") == (0, f"socsim {socsim.__version__}\n", "")


def test_without_a_command_the_help_is_an_error(cli):
    done = cli()
    assert done.code == 2
    assert done.out == ""
    assert "COMMAND" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu", "x"], ["unknown command", "rnu", "did you mean run?"]),
        (["run", "x", "--josn"], ["unknown option", "--josn", "did you mean --json?"]),
        (["run", "--josn"], ["unknown option", "--josn", "did you mean --json?"]),
        (["run", "x", "--work=y"], ["unknown option", "--work", "--workload"]),
        (["run"], ["missing", "PLATFORM", "socsim run --help"]),
        (["run", "x", "y"], ["unrecognized arguments", "y"]),
        (["run", "x", "-w"], ["-w", "expected one argument"]),
        (["run", "x", "-z"], ["-z"]),
        (["run", "x", "--grain", "tiles"], ["--grain", "tiles", "kernel, tile", "did you mean tile?"]),
        (["run", "x", "--decode", "fast"], ["--decode", "fast", "exact, sampled"]),
        (["run", "x", "--record", "kernels"], ["did you mean kernel?"]),
        (["run", "x", "--seed", "-1"], ["--seed", "whole number"]),
        (["run", "x", "--seed", "1.5"], ["--seed", "1.5", "whole number"]),
        (["run", "x", "--seed", "9" * 40], ["--seed", "whole number"]),
        (["run", "x", "-d", "npu,,gpu"], ["npu,,gpu", "leaves a name empty"]),
        (["run", ""], ["empty name"]),
        (["show", "modl", "x"], ["modl", "did you mean model?"]),
        (["list", "platform"], ["platform", "did you mean platforms?"]),
        (["schema", "workloads"], ["workloads", "did you mean workload?"]),
        (["new", "plattform"], ["did you mean platform?"]),
        (["completion", "zhs"], ["did you mean zsh?"]),
        (["--verison"], ["unrecognized arguments", "--verison"]),
        (["show", "model", "phi-2", "--set", "model.layers=2"], ["--set"]),
    ],
)
def test_wrong_arguments_say_what_was_meant(cli, arguments, words):
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


def test_a_command_without_a_module_does_not_show(monkeypatch, cli):
    monkeypatch.setattr(commands, "COMMANDS", (*commands.COMMANDS, commands.Command("polish", "no module")))
    assert "polish" not in cli("--help").out
    assert cli("polish").code == 2


class Stand:
    """A command's module that does what a test asks for."""

    def __init__(self, error):
        self.error = error

    def configure(self, parser):
        pass

    def run(self, options):
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 1, "socsim: interrupted\n"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (DeadlockError("stuck", [("npu", "dma")]), 1, "npu waits for dma"),
        (PermissionError(13, "Permission denied", "a\x1b[31mb"), 1, "a\\x1b[31mb"),
    ],
)
def test_a_failure_is_told_in_a_line(monkeypatch, cli, error, code, message):
    monkeypatch.setattr(front_door, "command_module", lambda command: Stand(error))
    done = cli("doctor")
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_defect_keeps_its_traceback(monkeypatch, cli):
    monkeypatch.setattr(front_door, "command_module", lambda command: Stand(ZeroDivisionError("a defect")))
    with pytest.raises(ZeroDivisionError, match="a defect"):
        cli("doctor")


def test_a_reader_that_leaves_early_is_no_error_message():
    command = f"{sys.executable} -m socsim list models | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m socsim trace chat-1k | head -1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("step,phase,layer")
    assert done.stderr == ""


def test_an_output_that_knows_ascii_only_is_no_failure():
    done = subprocess.run(
        [sys.executable, "-m", "socsim", "show", "platform", "ideal-48tops", "--set", "platform.name=µ×"],
        capture_output=True, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, check=True,
    )  # fmt: skip
    assert rb"\xb5\xd7" in done.stdout


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in NAMES)])
def test_help_fits_80_columns(cli, arguments, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    usage_apart = cli(*arguments).out.splitlines()
    assert max(map(len, usage_apart)) <= 80


@pytest.mark.parametrize(
    ("redirection", "code", "err"),
    [(">/dev/full", 1, "No space left on device"), (">&-", 0, ""), (">&- 2>&-", 0, "")],
)
def test_outputs_that_take_nothing(redirection, code, err):
    command = f"{sys.executable} -m socsim list models {redirection}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert err in done.stderr
    assert len(done.stderr.splitlines()) <= 1
