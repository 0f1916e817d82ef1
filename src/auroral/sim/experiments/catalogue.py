"""All experiments in virtual time, by name."""

from __future__ import annotations

from collections.abc import Callable

from auroral.sim.experiments import (
    e1_illustration,
    e2_several,
    e3_delay_or_process,
    e4_policies,
    e5_chains,
    e6_assigning,
    e7_correcting,
)
from auroral.sim.experiments.running import Costs
from auroral.sim.experiments.values import Experiment

EXPERIMENTS: dict[str, Callable[[Costs], Experiment]] = {
    "E1": e1_illustration.experiment,
    "E2": e2_several.experiment,
    "E3": e3_delay_or_process.experiment,
    "E4": e4_policies.experiment,
    "E5": e5_chains.experiment,
    "E6": e6_assigning.experiment,
    "E7": e7_correcting.experiment,
}
