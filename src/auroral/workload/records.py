"""What a participant writes down: all that must outlive a crash, before anything is said that rests on it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from auroral.workload.contracts import Contract
from auroral.workload.values import Exact, Task


@dataclass(frozen=True, slots=True)
class Added:
    """A client's task."""

    task: Task


@dataclass(frozen=True, slots=True)
class Removed:
    name: str


@dataclass(frozen=True, slots=True)
class Agreed:
    contract: Contract


@dataclass(frozen=True, slots=True)
class Ended:
    """A contract: what moved under it stays to the end of its term."""

    buyer: str
    seller: str


@dataclass(frozen=True, slots=True)
class Numbered:
    """This number is used: no later offer to this partner has it."""

    partner: str
    number: int


@dataclass(frozen=True, slots=True)
class Lent:
    """The buyer decided that these move, and owes the payment."""

    partner: str
    number: int
    tasks: tuple[Task, ...]
    items: tuple[str, ...]
    price: Exact
    payment: Fraction
    seconds: Exact
    at: float
    when: float


@dataclass(frozen=True, slots=True)
class Prolonged:
    """By the buyer."""

    partner: str
    number: int
    payment: Fraction
    seconds: Exact
    when: float


@dataclass(frozen=True, slots=True)
class Returned:
    """The buyer has the tasks again."""

    partner: str
    number: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The buyer knows what the seller keeps of its money, and has the rest back."""

    partner: str
    number: int
    kept: Fraction
    when: float


@dataclass(frozen=True, slots=True)
class Borrowed:
    """The seller owns these until then, and has the payment."""

    partner: str
    number: int
    tasks: tuple[Task, ...]
    price: Exact
    payment: Fraction
    seconds: Exact
    until: float
    when: float


@dataclass(frozen=True, slots=True)
class Renewed:
    """By the seller."""

    partner: str
    number: int
    payment: Fraction
    seconds: Exact
    when: float


@dataclass(frozen=True, slots=True)
class GaveBack:
    """The seller owns them no more, or never did; what it does not keep of the money it gives back."""

    partner: str
    number: int
    kept: Fraction
    when: float


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The buyer knows."""

    partner: str
    number: int


Record = (
    Added
    | Removed
    | Agreed
    | Ended
    | Numbered
    | Lent
    | Prolonged
    | Returned
    | Settled
    | Borrowed
    | Renewed
    | GaveBack
    | Forgotten
)
