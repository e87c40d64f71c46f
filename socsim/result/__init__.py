"""Results: what runs gave, as summary, tables and a folder on disk."""

from __future__ import annotations

from socsim.result.reading import load
from socsim.result.result import DeviceRun, Result
from socsim.result.target import check_folder

__all__ = ["DeviceRun", "Result", "check_folder", "load"]
