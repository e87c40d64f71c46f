"""What is installed is what was tested: the locks are complete, hashed, and name no host."""

import re
import tomllib
from pathlib import Path

import pytest

import socsim

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-core.lock", "requirements-nodeps.lock")
HOST = re.compile(r"://|--(extra-)?index-url|--find-links|\b[\w-]+\.(com|org|net|io|dev|cloud|internal|local)\b", re.I)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {canonical(re.match(r"[\w.-]+", requirement).group()) for requirement in requirements}


def pins(lock: str) -> dict[str, str]:
    """Requirement line -> everything the lock says about it."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    entries = re.split(r"^(?=\w)", text, flags=re.M)
    return {entry.splitlines()[0]: entry for entry in entries if entry[:1].isalnum()}


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host(lock):
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if HOST.search(line)]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_is_exact_and_hashed(lock):
    entries = pins(lock)
    assert entries
    for head, entry in entries.items():
        assert re.match(r"[\w.-]+==[\w.!+]+( ;.*)? \\$", head), head
        assert "--hash=sha256:" in entry, head


def test_the_full_lock_has_every_dependency(project):
    extras = project["project"]["optional-dependencies"].values()
    wanted = project["project"]["dependencies"] + [requirement for extra in extras for requirement in extra]
    assert names(wanted) <= names(list(pins("requirements.lock")))


def test_the_core_lock_has_the_core_and_the_build(project):
    wanted = project["project"]["dependencies"] + project["dependency-groups"]["build"]
    assert names(wanted) <= names(list(pins("requirements-core.lock")))
    assert project["build-system"]["requires"] == project["dependency-groups"]["build"]


def test_the_locks_agree():
    assert set(pins("requirements-core.lock")) <= set(pins("requirements.lock"))


def test_the_version_stands_once(project):
    assert project["project"]["version"] == socsim.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {socsim.__version__}\n" in citation
