"""Steps beside a step, as pipelined drafting has them: on tracks of their own, sharing the memory, stopped or kept."""

from dataclasses import dataclass, field, replace

import pytest

from socsim.mapping.controller import Progress
from socsim.mapping.kernel import StepTemplate
from socsim.metrics.measure import measure
from socsim.sim.simulation import simulate
from socsim.timeline.columns import DRAFTED
from tests.sim.parts import US, kernel, platform, program, rows_by_kind, section, step


@dataclass
class Watching:
    """Plays steps and notes how many finished beside each."""

    steps: tuple[StepTemplate, ...]
    seen: list[int] = field(default_factory=list)

    def next_step(self, progress: Progress) -> StepTemplate | None:
        self.seen.append(progress.beside)
        return self.steps[progress.steps] if progress.steps < len(self.steps) else None


def draft(layers=1, size=100_000):
    """1 us alone for each layer."""
    return replace(step(section(kernel("draft", "npu", read_bytes=size), count=layers), emits=False), name="draft")


def request(*beside, keeps=False, verify=400_000, emitted=3):
    """A verification of 4 us alone with drafts beside it, then another one that takes 4 us."""
    one = step(section(kernel("verify", "gpu", read_bytes=verify)))
    first = replace(one, name="verify", beside=beside, keeps_beside=keeps, emitted=emitted)
    made = program(first, replace(one, name="verify"))
    controller = Watching(made.controller.steps)
    return replace(made, controller=controller, devices=("gpu", "npu"), overlaps=True), controller


def test_steps_beside_share_the_memory():
    """Two drafts of 1 us need 2 us at half of the bandwidth each; 300 kB of 400 then are left for the other one."""
    made, controller = request(draft(), draft())
    timeline = simulate(made, platform())
    steps = [row for row in rows_by_kind(timeline, "step") if row[0] == "draft:step"]
    assert steps == [("draft:step", "draft", 0, 2 * US), ("draft:step", "draft", 2 * US, 4 * US)]
    assert timeline.tokens_ps == (6 * US,) * 3 + (10 * US,)
    assert controller.seen == [0, 2, 0]


@pytest.mark.parametrize(("keeps", "finished"), [(False, 0), (True, 1)])
def test_what_is_under_way_stops_after_its_kernel_or_is_finished(keeps, finished):
    """The verification ends at 7 us, in the middle of the fourth kernel of a draft, which has 50 kB left. Stopped, the
    fifth one is not begun; kept, two more follow."""
    made, controller = request(draft(layers=6), draft(), keeps=keeps, verify=350_000)
    timeline = simulate(made, platform())
    assert timeline.tokens_ps[:3] == (7 * US,) * 3
    last = [row for row in rows_by_kind(timeline, "step") if row[0] == "step"][-1]
    kernels = [row for row in rows_by_kind(timeline, "kernel") if row[0] == "draft:npu"]
    assert controller.seen[1] == finished
    assert len(kernels) == (6 if keeps else 4)
    assert kernels[-1][3] == last[2]
    assert kernels[-1][3] == (int(7.5 * US) if not keeps else int(9.5 * US))


def test_nothing_of_a_track_overlaps_itself():
    made, _ = request(draft(layers=3), draft(), draft())
    timeline = simulate(made, platform())
    spans, names = timeline.spans, timeline.names
    ends = {}
    for row in range(len(spans)):
        track = names[spans.track[row]]
        assert spans.start_ps[row] >= ends.get(track, 0)
        if spans.end_ps[row] > spans.start_ps[row] and names[spans.kind[row]] not in ("load", "drain"):
            ends[track] = int(spans.end_ps[row])


def test_speculation_is_counted_from_the_timeline():
    """Two verifications give four tokens, two of them drafts; two drafts were made, 4 us of 6 beside."""
    made, _ = request(draft(), draft())
    soc = platform()
    found = measure(simulate(made, soc), made, soc).speculation
    assert (found.draft_tokens, found.accepted_tokens, found.verifications) == (2, 2, 2)
    assert found.tokens_per_verification == 2.0
    assert (found.draft_s, found.verification_s, found.overlap_s) == pytest.approx((4e-6, 10e-6, 4e-6))
    assert found.contention_s == pytest.approx(2e-6)


def test_a_run_without_drafts_has_no_speculation():
    soc, made = platform(), program(step(section(kernel())))
    timeline = simulate(made, soc)
    assert timeline.index(DRAFTED) < 0
    assert measure(timeline, made, soc).speculation is None
