"""The panels, in the order in which a reader asks: how good, where, when, why, and can I believe it."""

from socsim.report.panel import PANELS
from socsim.report.panels import (
    bandwidth,
    bottleneck,
    comparison,
    energy,
    footprint,
    power,
    provenance,
    roofline,
    summary,
    time,
    timeline,
    waste,
)

for _module in (
    summary,
    comparison,
    time,
    energy,
    timeline,
    power,
    bandwidth,
    bottleneck,
    roofline,
    footprint,
    waste,
    provenance,
):
    PANELS.add(_module.__name__.rpartition(".")[2], _module.build)
