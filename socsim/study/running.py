"""Jobs carried out side by side: the same jobs give the same figures on any number of workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from socsim.study.jobs import Job, load_job

Outcome = Mapping[str, Any] | str
"""Figures of a run, or the reason why there are none."""
Progress = Callable[[float], None]

FIGURES: Final = (
    "ttft_s", "tpot_s", "prefill_tokens_per_s", "decode_tokens_per_s", "request_s", "energy_j", "energy_by_part_j",
    "soc_power_mean_w", "bound_by", "throttled_fraction",
)  # fmt: skip
_CHUNK: Final = 8  # jobs handed to a worker at once


def run_job(job: Job, overrides: tuple[str, ...] = ()) -> Outcome:
    """The figures of one job, or why it cannot run."""
    from socsim.errors import SocsimError
    from socsim.pipeline import RunOptions, run_loaded

    try:
        platform, workload = load_job(job, overrides)
        run = run_loaded(platform, workload, [job.device], RunOptions(record="step")).runs[0]
    except SocsimError as error:
        return str(error).splitlines()[0]
    if not run.ok:
        return str(run.reason)
    request = workload.spec.request
    counts = {"prompt_tokens": request.prompt_tokens, "output_tokens": request.output_tokens}
    return {name: run.summary[name] for name in FIGURES} | counts


def run_jobs(jobs: Sequence[Job], workers: int = 1, progress: Progress | None = None) -> dict[Job, Outcome]:
    """The outcome of each job, in order."""
    outcomes: dict[Job, Outcome] = {}
    for job, outcome in zip(jobs, _outcomes(jobs, workers), strict=True):
        outcomes[job] = outcome
        if progress is not None:
            progress(len(outcomes) / len(jobs))
    return outcomes


def _outcomes(jobs: Sequence[Job], workers: int) -> Any:
    if workers <= 1 or len(jobs) <= _CHUNK:
        yield from map(run_job, jobs)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run_job, jobs, chunksize=_CHUNK)
