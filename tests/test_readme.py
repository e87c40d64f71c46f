"""What the documents tell a reader to type works.

Blocks marked `sh`, `console` and `python` of a document are run one after the other in one folder that looks like the
repository's top (its data are there, reports are not). `make`, `git`, `pip` and `pytest` are only checked: targets
exist, tests are found. A `yaml` block with a `socsim:` line is a whole file: it is saved under the name in the comment
on its first line, if there is one, and `socsim check` must like it. Fragments that are not meant to be run are marked
`text`, `py`, `yaml` without such a line, ...
"""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = ("models", "platforms", "workloads", "studies", "validation", "benchmarks", "examples")
FENCE = re.compile(r"^( *)```(sh|console|python|yaml)\n(.*?)^\1```$", re.M | re.S)
WHOLE_FILE = re.compile(r"^socsim: \w+/v1$", re.M)
FILE_NAME = re.compile(r"# ([\w-]+\.yaml)\n")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TIMEOUT_S = 300

PRELUDE = r"""
set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
make() { command make -C "$ROOT" --dry-run "$@" >/dev/null; }
git() { if [ "$1" = clone ]; then mkdir -p socsim; else command git -C "$ROOT" help "$1" >/dev/null; fi; }
cd() { [ "$1" = socsim ] || builtin cd "$1"; }
pip() { [ "$1" = install ]; }
pytest() { (builtin cd "$ROOT"; command pytest --collect-only -q "$@" >/dev/null); }
set -x
"""


class Block(NamedTuple):
    """One fenced block: its language, the line it starts on, and what a reader would type."""

    language: str
    line: int
    code: str


def typed(language: str, text: str) -> str:
    """The commands of a block; in a console block those after `$ `, with `> ` for what continues them."""
    if language == "console":
        text = "".join(line[2:] for line in text.splitlines(keepends=True) if line.startswith(("$ ", "> ")))
    return text if language in ("python", "yaml") else text.replace(".venv/bin/", "")


def blocks_of(text: str) -> list[Block]:
    blocks = [
        Block(match[2], text.count("\n", 0, match.start()) + 1, typed(match[2], textwrap.dedent(match[3])))
        for match in FENCE.finditer(text)
    ]
    return [block for block in blocks if block.language != "yaml" or WHOLE_FILE.search(block.code)]


def documents() -> list[Path]:
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if "_build" not in path.parts and blocks_of(path.read_text(encoding="utf-8"))]


def saved(block: Block, folder: Path) -> str:
    """The commands of a block; a whole file is saved, and checked by the commands that are returned."""
    if block.language != "yaml":
        return block.code
    named = FILE_NAME.match(block.code)
    file = folder / (named[1] if named else f"line-{block.line}.yaml")
    file.write_text(block.code, encoding="utf-8")
    return f"socsim check {file.name}"


def marked(documents: list[Path]) -> list[Any]:
    """Guides simulate a lot: all but the tutorial are left to the slow tests."""
    guides = ROOT / "docs" / "guides"
    slow = [path for path in documents if path.parent == guides and path.stem != "tutorial"]
    return [pytest.param(path, marks=pytest.mark.slow if path in slow else ()) for path in documents]


def run_block(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    bin_folder = Path(sys.executable).parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment |= {"PATH": f"{bin_folder}{os.pathsep}{environment['PATH']}", "ROOT": str(ROOT)}
    command = [sys.executable, "-c"] if block.language == "python" else ["bash", "-c"]
    code = block.code if block.language == "python" else PRELUDE + saved(block, folder)
    return subprocess.run(
        [*command, code], cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like the repository's top to somebody who types commands there."""
    for name in DATA:
        if (ROOT / name).is_dir():
            (tmp_path / name).symlink_to(ROOT / name, target_is_directory=True)
    return tmp_path


@pytest.mark.parametrize("document", marked(documents()), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_says_to_type_works(document, folder):
    for block in blocks_of(document.read_text(encoding="utf-8")):
        done = run_block(block, folder)
        where = f"{document.relative_to(ROOT)}:{block.line}"
        assert done.returncode == 0, f"{where}: exit {done.returncode}\n{done.stderr}\n{done.stdout}"


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / document).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("path", re.findall(r"`((?:socsim|tests|docs|platforms|validation)/[\w./]+)`", CONTRIBUTING))
def test_the_files_to_touch_exist(path):
    assert (ROOT / path).exists()


def test_the_picture_of_a_report_is_small():
    picture = ROOT / "docs" / "images" / "report.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000


@pytest.mark.parametrize(("tiles", "succeeds"), [("2", True), ("none", False)])
def test_a_whole_file_is_saved_and_checked(tiles, succeeds, folder):
    code = f"# mine.yaml\nsocsim: platform/v1\nextends: lunar-lake-268v\ndevices: {{npu: {{tiles: {tiles}}}}}\n"
    done = run_block(Block("yaml", 1, code), folder)
    assert (done.returncode == 0) == succeeds, done.stderr
    assert (folder / "mine.yaml").read_text(encoding="utf-8") == code


def test_the_readme_begins_with_two_commands():
    code = "\n".join(block.code for block in blocks_of((ROOT / "README.md").read_text(encoding="utf-8")))
    assert code.index("make run") < code.index("make test")
    assert "socsim run " in code


def test_blocks_are_read_as_a_reader_would():
    text = textwrap.dedent("""\
        1. Do this:

           ```sh
           .venv/bin/socsim list platforms   # all of them
           ```

        ```console
        $ cat > a.txt <<END
        > one
        > END
        one line of output
        ```

        ```yaml
        a: 1
        ```

        ```yaml
        # my-chat.yaml
        socsim: workload/v1
        ```
        """)
    assert blocks_of(text) == [
        Block("sh", 3, "socsim list platforms   # all of them\n"),
        Block("console", 7, "cat > a.txt <<END\none\nEND\n"),
        Block("yaml", 18, "# my-chat.yaml\nsocsim: workload/v1\n"),
    ]


@pytest.mark.parametrize(
    ("code", "succeeds"),
    [
        ("make run test", True),
        ("make no-such-target", False),
        ("git clone socsim && cd socsim && pip install .", True),
        ("pytest tests/test_readme.py", True),
        ("pytest tests/no_such_file.py", False),
        ("false | true", False),
        ("test -d platforms", True),
    ],
)
def test_a_broken_command_is_found(code, succeeds, folder):
    done = run_block(Block("sh", 1, code), folder)
    assert (done.returncode == 0) == succeeds, done.stderr
