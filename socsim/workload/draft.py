"""The draft model of speculative decoding: a workload of its own, made from the target's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from socsim.data import is_file
from socsim.errors import InputError
from socsim.workload.architecture import Architecture
from socsim.workload.deployment import Deployment, Speculative
from socsim.workload.model_library import find_model, stored_weights
from socsim.workload.passes import check_workload
from socsim.workload.spec import WorkloadSpec
from socsim.workload.workload_library import LoadedWorkload

PATH = "deployment.speculative.draft"


def draft_workload(target: LoadedWorkload) -> LoadedWorkload | None:
    """The draft's request and deployment; None where the target is not decoded speculatively.

    It sees the same tokens, so it has the target's vocabulary, whatever its own one is. Where its deployment is not
    stated it is the target's, but for what names single layers, and the formats of its weights where a GGUF file
    brings them.

    Raises InputError, placed in the workload's file.
    """
    speculative = target.spec.deployment.speculative
    if speculative == "none" or target.architecture is None:
        return None
    try:
        reference = _reference(speculative, target)
        own = find_model(reference)
        deployment = _deployment(speculative, target.spec.deployment, own, reference)
        spec = target.spec.model_copy(update={"model": str(reference), "deployment": deployment, "background": []})
        check_workload(spec, own.layers, own.max_context)
    except InputError as error:
        raise InputError(
            problem if problem.file else target.document.source_map.place(replace(problem, path=PATH), PATH)
            for problem in error.problems
        ) from None
    return replace(target, spec=spec, architecture=replace(own, vocabulary=target.architecture.vocabulary))


def with_native_formats(
    draft: WorkloadSpec, target: WorkloadSpec, activations: str | None, kv: str | None
) -> WorkloadSpec:
    """The draft with the formats of its own runtime for activations and KV cache where no draft deployment states them.

    Only tokens pass between the models, so theirs need not match.
    """
    speculative = target.deployment.speculative
    stated = speculative.draft_deployment if speculative != "none" else None
    fields = stated.model_fields_set if stated is not None else set()
    update: dict[str, object] = {}
    for part, native in (("activations", activations), ("kv_cache", kv)):
        if native is not None and part not in fields:
            update[part] = getattr(draft.deployment, part).model_copy(update={"format": native})
    return draft.model_copy(update={"deployment": draft.deployment.model_copy(update=update)})


def _reference(speculative: Speculative, target: LoadedWorkload) -> str | Path:
    """What the workload calls its draft; a relative path is taken from the workload's folder first."""
    beside = Path(target.document.file).parent / speculative.draft
    return beside if is_file(beside) else speculative.draft


def _deployment(speculative: Speculative, target: Deployment, own: Architecture, reference: str | Path) -> Deployment:
    stated = speculative.draft_deployment
    deployment = stated or _for_layers(target, own.layers)
    stored = None if stated is not None and "weights" in stated.model_fields_set else stored_weights(reference)
    update = {"speculative": "none"} if stored is None else {"speculative": "none", "weights": stored[1]}
    return deployment.model_copy(update=update)


def _for_layers(deployment: Deployment, layers: int) -> Deployment:
    """The target's deployment without what is stated layer by layer for more layers than the draft has."""
    update = {}
    for part in ("weights", "activations"):
        formats = getattr(deployment, part)
        kept = [one for one in formats.overrides if one.last_layer < layers]
        update[part] = formats.model_copy(update={"overrides": kept})
    cache = deployment.kv_cache
    if cache.eviction is not None and isinstance(cache.eviction.distribution, list):
        eviction = cache.eviction.model_copy(update={"distribution": "uniform"})
        update["kv_cache"] = cache.model_copy(update={"eviction": eviction})
    return deployment.model_copy(update=update)
