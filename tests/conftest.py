"""What every test can rely on: one Hypothesis profile, and the folder of reference material where there is one."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")

# The same examples on every machine: a red test is red for everyone, and a slow machine is no failure.
# HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared/` beside the repository: measurements and facts that do not ship with it."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder shared/ beside the repository")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium, for tests that open the report."""
    found = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if found is None:
        pytest.skip("no Chromium: `make browser` installs one")
    return found
