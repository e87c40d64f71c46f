"""Reports to look at: one as large as a long request on three devices, and small ones of every odd kind."""

import importlib.util
import sys
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("report_synthetic", Path(__file__).with_name("synthetic.py"))
synthetic = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = synthetic
_SPEC.loader.exec_module(synthetic)


@pytest.fixture(scope="session")
def make():
    """The module that makes synthetic reports."""
    return synthetic


@pytest.fixture(scope="session")
def small():
    """Three devices, 6 decode steps, 3 layers."""
    return synthetic.synthetic_report(steps=6, layers=3)


@pytest.fixture(scope="session")
def large():
    """Three devices, 1024 + 1024 tokens, 32 layers: 5.4 million spans."""
    return synthetic.synthetic_report()
