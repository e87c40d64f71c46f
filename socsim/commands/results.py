"""Results that a user names by their folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from socsim.errors import InputError, file_problem

if TYPE_CHECKING:
    from socsim.result import Result


def load_result(folder: str | Path) -> Result:
    """The result in a folder; InputError for a folder that holds none, or one that is damaged."""
    from socsim.result import load

    try:
        return load(folder)
    except (OSError, ValueError, LookupError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        problem = f"holds a damaged result: {error}"
        raise InputError(file_problem(folder, problem, "a folder as `socsim run` wrote it")) from error
