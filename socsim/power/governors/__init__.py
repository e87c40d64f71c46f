"""Governors by name. To add one: a module here, and its line below."""

from __future__ import annotations

from socsim.power.governors.energy_optimal import ENERGY_OPTIMAL
from socsim.power.governors.observation import Decision, Governor, Observation
from socsim.power.governors.ondemand import ONDEMAND
from socsim.power.governors.performance import PERFORMANCE
from socsim.power.governors.powersave import POWERSAVE
from socsim.power.governors.race_to_idle import RACE_TO_IDLE
from socsim.power.governors.schedutil import SCHEDUTIL
from socsim.registry import Registry

__all__ = ["GOVERNORS", "Decision", "Governor", "Observation"]

GOVERNORS: Registry[Governor] = Registry("governor")
GOVERNORS.add("performance", PERFORMANCE)
GOVERNORS.add("powersave", POWERSAVE)
GOVERNORS.add("ondemand", ONDEMAND)
GOVERNORS.add("schedutil", SCHEDUTIL)
GOVERNORS.add("race_to_idle", RACE_TO_IDLE)
GOVERNORS.add("energy_optimal", ENERGY_OPTIMAL)
