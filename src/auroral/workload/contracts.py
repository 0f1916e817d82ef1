"""Who may pay whom for running what, and how much (L8-L11): made off line, between two participants, known to these two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from auroral.model.errors import AuroralError
from auroral.workload.values import Exact, Load, Task


class WrongContract(AuroralError):
    """Terms that contradict one another, or other contracts."""


@dataclass(frozen=True, slots=True)
class Clauses:
    """What partners agree on besides the price."""

    tasks: tuple[str, ...] = ("*",)
    """Names, or patterns of names, of those that may move."""
    onward: bool = True
    """Whether the seller may move them on, to partners of its own."""
    provides: frozenset[str] = frozenset()
    """What the seller gives, such as a level of security: tasks that require more do not move."""
    most_load: Mapping[str, Exact] = field(default_factory=dict)
    """Above which the seller does not take anything: how slow what it runs may become."""
    penalty: Exact = 0
    """Paid by the seller when it gives tasks back before their time is over (availability), beside what was paid for the rest of it."""

    def __hash__(self) -> int:
        return hash((self.tasks, self.onward, self.provides, frozenset(self.most_load.items()), self.penalty))

    def allow(self, task: Task) -> bool:
        return task.requires <= self.provides and any(fnmatchcase(task.name, pattern) for pattern in self.tasks)

    def keep(self, load: Load) -> bool:
        """Whether a seller with this load is as quick as was agreed."""
        return all(load[resource] <= most for resource, most in self.most_load.items())


@dataclass(frozen=True, slots=True)
class Contract:
    """The buyer pays, the seller runs. One direction; prices are for a unit of load and a second."""

    buyer: str
    seller: str
    high: Exact
    """The fixed price, or the upper end of the range."""
    delta: Exact = 0
    """How wide the range is below it; 0 for a fixed price."""
    duration: Exact = 60
    """d: for how many seconds tasks move, if neither asks for more."""
    step: Exact = Fraction(1, 1000)
    """Counter-offers are multiples of it above the lower end."""
    units: Mapping[str, Exact] = field(default_factory=dict)
    """How much of a resource is one unit of load; 1 where nothing is said."""
    clauses: Clauses = Clauses()

    def __post_init__(self) -> None:
        for wrong, words in (
            (self.buyer == self.seller, f"{self.buyer} has a contract with itself\n    allowed: two participants"),
            (self.delta < 0, f"the range of prices is {self.delta} wide\n    allowed: 0, for a fixed price, or more"),
            (self.delta > self.high, f"the range of prices begins at {self.high - self.delta}\n    allowed: 0 or more"),
            (self.duration <= 0, f"tasks move for {self.duration} s\n    allowed: more than 0"),
            (self.step <= 0, f"the step of prices is {self.step}\n    allowed: more than 0"),
            (any(unit <= 0 for unit in self.units.values()), "a unit of load is 0 or less\n    allowed: more than 0"),
        ):
            if wrong:
                raise WrongContract(f"contract of {self.buyer} with {self.seller}: {words}\n    next: change the terms")

    def __hash__(self) -> int:
        return hash((self.buyer, self.seller, self.high, self.delta, self.duration))

    @property
    def low(self) -> Exact:
        return self.high - self.delta

    @property
    def fixed(self) -> bool:
        return not self.delta

    def in_range(self, price: Exact) -> bool:
        return self.low <= price <= self.high

    def load(self, load: Load) -> Fraction:
        """In units."""
        return sum((Fraction(amount) / self.units.get(name, 1) for name, amount in load.amounts.items()), Fraction(0))

    def payment(self, load: Load, price: Exact, seconds: Exact) -> Fraction:
        return price * self.load(load) * seconds

    def rounded(self, price: Exact) -> Exact:
        """The next price of the range that may be asked for; above the range if there is none."""
        if price <= self.low:
            return self.low
        steps = -(-(Fraction(price) - self.low) // self.step)
        return self.low + steps * self.step

    def to_settings(self) -> dict[str, Any]:
        """As numbers, lists and texts only, from which `contract` makes the same again."""
        clauses = self.clauses
        return {
            "buyer": self.buyer,
            "seller": self.seller,
            **{name: str(getattr(self, name)) for name in ("high", "delta", "duration", "step")},
            "units": {name: str(unit) for name, unit in self.units.items()},
            "tasks": list(clauses.tasks),
            "onward": clauses.onward,
            "provides": sorted(clauses.provides),
            "most_load": {name: str(most) for name, most in clauses.most_load.items()},
            "penalty": str(clauses.penalty),
        }


def contract(settings: Mapping[str, Any]) -> Contract:
    """From what a file says."""
    known = {"buyer", "seller", "high", *_NUMBERS, "units", *_CLAUSES}
    if unknown := settings.keys() - known:
        raise WrongContract(f"a contract has no {', '.join(sorted(unknown))}\n    allowed: {', '.join(sorted(known))}")
    if lacking := {"buyer", "seller", "high"} - settings.keys():
        raise WrongContract(f"a contract lacks {', '.join(sorted(lacking))}\n    next: add it")
    numbers = {name: _number(name, settings[name]) for name in ("high", *_NUMBERS) if name in settings}
    units = {name: _number("units", unit) for name, unit in settings.get("units", {}).items()}
    said = {name: settings[name] for name in _CLAUSES if name in settings}
    converted = {name: _CLAUSES[name](value) for name, value in said.items()}
    return Contract(settings["buyer"], settings["seller"], **numbers, units=units, clauses=Clauses(**converted))


def _number(name: str, value: Any) -> Fraction:
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError) as error:
        raise WrongContract(f"{name} is {value!r}\n    allowed: a number, as 0.25 or 1/3") from error


_NUMBERS = ("delta", "duration", "step")
_CLAUSES: Mapping[str, Any] = {
    "tasks": tuple,
    "onward": bool,
    "provides": frozenset,
    "most_load": lambda given: {name: _number("most_load", most) for name, most in given.items()},
    "penalty": lambda given: _number("penalty", given),
}


def agreed(contracts: Iterable[Contract]) -> dict[tuple[str, str], Contract]:
    """By buyer and seller: at most one for each (L8)."""
    found: dict[tuple[str, str], Contract] = {}
    for one in contracts:
        if (one.buyer, one.seller) in found:
            raise WrongContract(
                f"{one.buyer} has two contracts with {one.seller}\n    allowed: one in each direction\n    next: leave one out"
            )
        found[one.buyer, one.seller] = one
    return found
