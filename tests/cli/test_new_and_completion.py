"""Files to start from that are right as they are, with every comment switched on too; completion in a real shell."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from socsim.commands.new import TEMPLATES, kinds

OPTION = re.compile(r"^( *)# (-? ?\{|[a-z_]+: )")
ALTERNATIVES = ("extends:",)  # instead of what stands there, not beside it


@pytest.mark.parametrize("kind", kinds())
def test_a_template_is_right_as_it_is(cli, tmp_path, kind):
    assert cli("new", kind, "-o", f"{kind}.yaml").code == 0
    assert cli("check", f"{kind}.yaml") == (0, f"{kind}.yaml: ok ({kind})\n", "")
    assert cli("new", kind).out == (tmp_path / f"{kind}.yaml").read_text()


@pytest.mark.parametrize("kind", kinds())
def test_every_option_in_a_templates_comments_is_right(cli, tmp_path, kind):
    lines = (TEMPLATES / f"{kind}.yaml").read_text().splitlines()
    options = [index for index, line in enumerate(lines) if OPTION.match(line)]
    assert options
    for index in options:
        if not any(word in lines[index] for word in ALTERNATIVES):
            lines[index] = lines[index].replace("# ", "", 1)
            following = index + 1
            while following < len(lines) and lines[following].startswith("#   "):
                lines[following] = lines[following].replace("# ", "", 1)
                following += 1
    (tmp_path / "all.yaml").write_text("\n".join(lines))
    done = cli("check", "all.yaml")
    assert done.err == ""
    assert done.code == 0


def test_templates_exist_for_platform_and_workload():
    assert {"platform", "workload"} <= set(kinds())


def test_templates_fit_a_page():
    for path in TEMPLATES.glob("*.yaml"):
        assert max(map(len, path.read_text().splitlines())) <= 120


def test_nothing_is_overwritten(cli, tmp_path):
    (tmp_path / "mine.yaml").write_text("precious")
    done = cli("new", "workload", "-o", "mine.yaml")
    assert done.code == 2
    assert "mine.yaml: exists already" in done.err
    assert (tmp_path / "mine.yaml").read_text() == "precious"


@pytest.mark.parametrize("command", [("new", "workload"), ("trace", "w8a8-1k")])
def test_a_folder_that_is_missing(cli, command):
    done = cli(*command, "-o", "no/such/file.csv")
    assert done.code == 2
    assert "no/such/file.csv: cannot be written" in done.err


def completed(*words: str) -> list[str]:
    """What bash offers after `words`, the last of which is being typed."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"""
        socsim() {{ {sys.executable} -m socsim "$@"; }}
        source <(socsim completion bash)
        COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
        _socsim 2>/dev/null
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("socsim", "com"), "completion"),
        (("socsim", "run", "lunar"), "lunar-lake-268v"),
        (("socsim", "run", "x", "--js"), "--json"),
        (("socsim", "run", "x", "--grain", ""), "tile"),
        (("socsim", "run", "x", "-w", "chat"), "chat-1k"),
        (("socsim", "show", ""), "workload"),
        (("socsim", "show", "model", "phi-"), "phi-2"),
        (("socsim", "show", "--set", "a=b", "model", "phi-"), "phi-2"),
        (("socsim", "list", "gov"), "governors"),
    ],
)
def test_bash_completes(words, offered):
    assert offered in completed(*words)


def test_bash_completes_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my-own.yaml").touch()
    assert completed("socsim", "check", "a.yaml", "my-") == ["my-own.yaml"]
    assert completed("socsim", "run", "my-") == ["my-own.yaml"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_right(cli, shell):
    done = cli("completion", shell)
    assert done.code == 0
    assert "socsim list" in done.out
    assert "--json" in done.out or "-l json" in done.out
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=done.out, text=True, check=True, capture_output=True)


def test_fish_quotes_apostrophes(cli):
    assert "\\'s" in cli("completion", "fish").out
