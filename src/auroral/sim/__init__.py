"""The cores of `dpc` in virtual time: clock, network, evaluation and faults, all drawn from one seed.

`under_failures` tries a diagram of one's own; `auroral simulate dpc` tries the protocol itself.
"""

from auroral.sim.diagrams import Answer, Tried, under_failures
from auroral.sim.faults import WrongSchedule
from auroral.sim.fragments import CannotBeSimulated

__all__ = ["under_failures", "Tried", "Answer", "CannotBeSimulated", "WrongSchedule"]
