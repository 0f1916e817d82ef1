"""Times that a participant goes by, in seconds, and how it judges."""

from __future__ import annotations

from dataclasses import dataclass

from auroral.workload.bidding import Bid, valuation
from auroral.workload.contracts import WrongContract
from auroral.workload.worth import Worth


@dataclass(frozen=True, slots=True)
class Settings:
    worth: Worth
    answer_within: float = 1.0
    """t: a partner that has not answered an offer by then has refused it."""
    partners: int = 10
    """C: the most contracts that anybody has. A counter-offer holds for C * t, so that a buyer can ask all the others first."""
    pause: float = 1.0
    """Omega1: after tasks have moved, or nobody took any, until the next try."""
    gather: float = 0.0
    """Omega2: for so long offers are collected, to take the best-paid first."""
    retry_after: float | None = None
    """Until a partner that refused is asked again; if left out, the duration of its contract."""
    again: float = 1.0
    """Until what was not answered is said again."""
    bid: Bid = valuation

    def __post_init__(self) -> None:
        for name in ("answer_within", "pause", "again"):
            if getattr(self, name) <= 0:
                raise WrongContract(f"{name} is {getattr(self, name)} s\n    allowed: more than 0")
        if not 0 <= self.gather < self.answer_within:
            raise WrongContract(
                f"offers are gathered for {self.gather} s, and must be answered within {self.answer_within} s\n"
                "    allowed: less than that\n    next: gather for a shorter time"
            )

    @property
    def counter_holds(self) -> float:
        return self.partners * self.answer_within
