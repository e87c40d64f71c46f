"""The house keeps its floors: who may import whom, how long a file may grow, what a start may cost."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import pytest

import socsim

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "socsim"

# Ground floor first. A module imports only from its own floor or from those above it in this table.
FLOORS = (
    ("errors", "units", "registry", "data"),
    ("schema",),
    ("timeline",),
    ("workload",),
    ("power",),
    ("hardware",),
    ("mapping",),
    ("sim",),
    ("metrics",),
    ("result", "report", "verdict"),
    ("pipeline",),
    ("study",),
    ("explore",),
    ("cli", "commands", "__init__", "__main__"),
)
FLOOR_OF = {part: floor for floor, parts in enumerate(FLOORS) for part in parts}

HEAVY = {"numpy", "pandas", "plotly", "pyarrow", "pydantic", "simpy", "yaml", "jinja2", "rich", "scipy"}
LIGHT_PARTS = {"cli", "__init__", "__main__", "errors", "units", "registry", "data"}

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
SAYS_NOTHING = re.compile(r"(^|_)(utils?|helpers?|managers?|handlers?|old|misc)(_|$)|^(common|core)$")
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b")


class Import(NamedTuple):
    """One import: the dotted name asked for, the line, whether it runs when the module is loaded, and ever."""

    name: str
    line: int
    at_load: bool
    runs: bool = True


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports_of(tree: ast.AST, at_load: bool = True, runs: bool = True) -> Iterator[Import]:
    """Every import below `tree`: those in functions run later, those under TYPE_CHECKING never. None is relative."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, at_load, runs) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{node.lineno}: imports are absolute"
            yield from (Import(f"{node.module}.{alias.name}", node.lineno, at_load, runs) for alias in node.names)
        elif is_type_checking(node):
            yield from (
                one._replace(runs=False) for part in node.body for one in imports_of(ast.Module([part], []), False)
            )
            yield from (one for part in node.orelse for one in imports_of(ast.Module([part], []), at_load, runs))
        else:
            later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports_of(node, at_load and not later, runs)


def part_of(path: Path) -> str:
    """The entry of FLOORS that a file of the package belongs to."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_part(name: str) -> str | None:
    """The part of socsim that a dotted name lies in; None for other packages and for the version."""
    words = name.split(".")
    if words[0] != "socsim" or words[1:] == ["__version__"]:
        return None
    return words[1] if len(words) > 1 and words[1] in FLOOR_OF else "__init__"


def faults_of(part: str, tree: ast.AST) -> Iterator[str]:
    """What is wrong with the imports of one module that lies in `part`."""
    for name, line, at_load, _ in imports_of(tree):
        target = imported_part(name)
        if target is not None and FLOOR_OF[target] > FLOOR_OF[part]:
            yield f"{line}: {part} must not import {name}: {target} lies on a higher floor"
        if target == "sim" and part not in {"sim", "pipeline"}:
            yield f"{line}: only the pipeline starts simulations, {part} must not import {name}"
        if name.split(".")[0] == "simpy" and part != "sim":
            yield f"{line}: only sim/ knows SimPy, {part} must not import {name}"
        if at_load and part in LIGHT_PARTS and name.split(".")[0] in HEAVY:
            yield f"{line}: {part} is on the way to every command's start: import {name} where it is used"


def module_name(path: Path) -> str:
    words = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


def import_graph(trees: Mapping[str, ast.AST]) -> dict[str, set[str]]:
    """The modules that each module imports, at once or in a function; the package's version is no import of it."""
    graph: dict[str, set[str]] = {}
    for module, tree in trees.items():
        asked = {one.name for one in imports_of(tree) if one.runs and one.name != "socsim.__version__"}
        found = {next((name for name in (one, one.rpartition(".")[0]) if name in trees), module) for one in asked}
        graph[module] = found - {module}
    return graph


def cycle_of(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle; empty where there are none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def listing(faults: list[str]) -> str:
    return "\n" + "\n".join(faults)


def test_every_part_of_the_package_has_a_floor():
    assert {part_of(path) for path in sources("socsim")} <= set(FLOOR_OF)


def test_the_architecture_page_has_the_same_floors():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`[a-z_]+/?` ?)+)\|", page, re.M)
    floors = [set(re.findall(r"[a-z_]+", row)) for row in rows]
    assert floors == [{part for part in parts if not part.startswith("__")} for parts in FLOORS]


def test_imports_point_down_only():
    faults = [
        f"{path.relative_to(ROOT)}:{fault}"
        for path in sources("socsim")
        for fault in faults_of(part_of(path), ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not faults, listing(faults)


def test_no_modules_import_each_other_in_a_circle():
    trees = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sources("socsim")}
    cycle = cycle_of(import_graph(trees))
    assert not cycle, listing(cycle)


def test_a_circle_is_found_though_it_closes_in_a_function():
    there, back = "from socsim.b import f", "def f():\n    from socsim import a"
    trees = {"socsim.a": ast.parse(there), "socsim.b": ast.parse(back)}
    assert set(cycle_of(import_graph(trees))) == {"socsim.a", "socsim.b"}
    trees["socsim.b"] = ast.parse("if TYPE_CHECKING:\n    from socsim import a")
    assert not cycle_of(import_graph(trees))


@pytest.mark.parametrize(
    ("part", "source", "word"),
    [
        ("schema", "from socsim.workload import spec", "higher floor"),
        ("power", "def f():\n    from socsim import hardware", "higher floor"),
        ("hardware", "import socsim", "higher floor"),
        ("metrics", "from socsim.sim.server import Server", "only the pipeline"),
        ("mapping", "from simpy import Environment", "only sim/"),
        ("cli", "import pandas as pd", "start"),
        ("errors", "try:\n    import yaml\nexcept ImportError:\n    pass", "start"),
    ],
)
def test_a_wrong_import_is_found(part, source, word):
    (fault,) = faults_of(part, ast.parse(source))
    assert word in fault


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("workload", "from socsim.schema.loader import load\nfrom socsim.workload.ops import MatMul\nimport numpy"),
        ("pipeline", "from socsim.sim.simulation import simulate"),
        ("sim", "import simpy"),
        ("report", "from socsim import __version__\nfrom socsim.result import Result"),
        ("cli", "def main():\n    import pandas\n    from socsim import pipeline"),
        ("cli", "if TYPE_CHECKING:\n    import pandas"),
    ],
)
def test_a_right_import_is_left_alone(part, source):
    assert not list(faults_of(part, ast.parse(source)))


def test_files_are_short():
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources("socsim", "tests", "benchmarks")
    }
    faults = [f"{path.relative_to(ROOT)}: {n} lines" for path, n in lengths.items() if n > MAX_FILE_LINES]
    assert not faults, listing(faults)


def function_lengths(*folders: str) -> dict[str, int]:
    return {
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}": node.end_lineno - node.lineno + 1
        for path in sources(*folders)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_functions_are_of_one_thought():
    lengths = function_lengths("socsim", "tests", "benchmarks")
    faults = [f"{name} has {lines} lines" for name, lines in lengths.items() if lines > MAX_FUNCTION_LINES]
    assert not faults, listing(faults)


def test_most_functions_are_short():
    lengths = list(function_lengths("socsim").values())
    assert median(lengths) <= 8
    assert quantiles(lengths, n=10)[-1] < 25


def test_tests_read_no_clock_to_judge_speed():
    """A busy machine is no fault of the code: speed is measured by `benchmarks/`."""
    clocks = re.compile(r"\b(perf_counter|process_time|time\.time)\b")
    faults = [
        f"{path.relative_to(ROOT)}"
        for path in sources("tests")
        if path != Path(__file__).resolve() and clocks.search(path.read_text(encoding="utf-8"))
    ]
    assert not faults, listing(faults)


def test_module_names_say_what_is_inside():
    modules = {path.relative_to(ROOT) for path in sources("socsim", "tests", "benchmarks")}
    faults = [str(path) for path in sorted(modules) if any(map(SAYS_NOTHING.search, path.with_suffix("").parts))]
    assert not faults, listing(faults)


def test_nothing_is_left_unfinished():
    faults = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources("socsim", "tests", "benchmarks")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if UNFINISHED.search(line)
    ]
    assert not faults, listing(faults)


def test_starting_the_command_loads_nothing_heavy():
    code = "import sys, socsim.cli; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert HEAVY.isdisjoint(loaded)


@pytest.mark.parametrize("name", socsim.__all__)
def test_the_package_exports_what_it_names(name):
    assert getattr(socsim, name) is not None
    assert name in dir(socsim)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(AttributeError, match=r"no attribute 'rum'.*load_platform.*run"):
        _ = socsim.rum
