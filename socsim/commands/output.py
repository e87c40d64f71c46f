"""Where commands write: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from socsim.errors import InputError, file_problem


def write(text: str) -> None:
    """A result, with a line end, to standard output."""
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    except OSError as error:
        raise named(error) from None


def write_json(data: Any) -> None:
    """One JSON object to standard output; NaN and infinity are refused, they are no JSON."""
    write(json.dumps(data, indent=2, allow_nan=False))


def named(error: OSError) -> OSError:
    """The same error of standard output, which has no name of its own (a full disk behind `> file`)."""
    error.filename = error.filename or "standard output"
    return error


def remark(text: str) -> None:
    """Something a person may want to know, to standard error."""
    sys.stderr.write(f"{text}\n")


def write_new(path: str, text: str) -> None:
    """A new file; InputError if there is something of that name already."""
    try:
        with Path(path).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(file_problem(path, "exists already", "a name that is free")) from None
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: str | Path, error: OSError) -> InputError:
    """A path that cannot be written to: the folder is missing, a permission is."""
    return InputError(
        file_problem(path, f"cannot be written: {error.strerror or error}", "a path in a folder that exists")
    )
