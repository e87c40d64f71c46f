"""Discrete-event simulation of LLM inference on SoCs with CPU, GPU and NPU.

`socsim.run("lunar-lake-268v")` simulates a request on every device of a platform and returns a `Result`; the command
line `socsim run` tells the same story. Names are loaded when first used, so that `import socsim` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socsim.errors import InputError, SocsimError
    from socsim.pipeline import RunOptions, load_platform, load_workload, run
    from socsim.result import Result, load
    from socsim.study.calls import sweep, validate
    from socsim.study.compare import compare
    from socsim.study.explain import explain

__version__ = "0.1.0"
__all__ = [
    "InputError",
    "Result",
    "RunOptions",
    "SocsimError",
    "__version__",
    "compare",
    "explain",
    "load",
    "load_platform",
    "load_workload",
    "run",
    "sweep",
    "validate",
]

_HOME = {
    "InputError": "socsim.errors",
    "Result": "socsim.result",
    "RunOptions": "socsim.pipeline",
    "SocsimError": "socsim.errors",
    "compare": "socsim.study.compare",
    "explain": "socsim.study.explain",
    "load": "socsim.result",
    "load_platform": "socsim.pipeline",
    "load_workload": "socsim.pipeline",
    "run": "socsim.pipeline",
    "sweep": "socsim.study.calls",
    "validate": "socsim.study.calls",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'socsim' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
