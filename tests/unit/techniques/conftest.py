"""Kernels of Llama-3.1-8B on the ideal platform, from YAML: what a technique changes there can be counted by hand."""

import json

import pytest

from socsim.hardware.platform_library import load_platform, runtime_for
from socsim.mapping.controller import Progress
from socsim.mapping.lowering import lower
from socsim.workload.spec import PlacementSpec
from socsim.workload.workload_library import load_workload

CONTEXT = 1024  # positions that the first decode step attends over


class Step:
    """The kernels of one step, each with the number of layers that it stands for."""

    def __init__(self, template):
        self.template = template
        self.kernels = list(template.kernels())

    def only(self, *names):
        """Kernels that serve an operator of one of these names."""
        return [
            (count, kernel)
            for count, kernel in self.kernels
            if any(operator.name in names for operator in kernel.operators)
        ]

    def role(self, role, kernels=None):
        """Bytes read and written of a tensor role."""
        chosen = self.kernels if kernels is None else kernels
        return sum(
            count * (read + written)
            for count, kernel in chosen
            for name, read, written in kernel.bytes_by_role
            if name == role
        )

    def total(self, field):
        return sum(count * getattr(kernel, field) for count, kernel in self.kernels)

    def action(self, name):
        return sum(count * dict(kernel.actions).get(name, 0) for count, kernel in self.kernels)


@pytest.fixture
def lowered(tmp_path):
    """lowered(deployment, prompt=, output=, sets=, ...) -> (prefill steps, first decode step)."""

    def build(deployment=None, prompt=CONTEXT - 1, output=2, sets=(), runtime=None, **request):
        model = request.pop("model", "llama-3.1-8b")
        counts = {"prompt_tokens": prompt, "output_tokens": output} | request
        file = tmp_path / "workload.yaml"
        data = {"socsim": "workload/v1", "model": model, "request": counts, "deployment": deployment or {}}
        file.write_text(json.dumps(data | ({"runtime": runtime} if runtime else {})), encoding="utf-8")  # JSON is YAML
        workload = load_workload(file)
        platform = load_platform("ideal-48tops", sets)
        profile = runtime_for(platform.spec, "npu", workload.spec.runtime).profile
        program = lower(workload.trace(), platform.spec, PlacementSpec(default="npu"), {"npu": profile}, workload.spec)
        prefill, index = [], 0
        while (template := program.controller.next_step(Progress(index))) is not None:
            if template.phase == "decode":
                return prefill, Step(template)
            prefill.append(Step(template))
            index += 1
        return prefill, None

    return build


@pytest.fixture
def decode(lowered):
    """The first decode step of a deployment."""
    return lambda deployment=None, **options: lowered(deployment, **options)[1]


@pytest.fixture
def prefill(lowered):
    """The only prefill step of a deployment."""

    def first(deployment=None, **options):
        (step,) = lowered(deployment, **options)[0]
        return step

    return first
