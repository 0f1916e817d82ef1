"""What happens to a participant, and what it wants done.

Who runs it carries its effects out in their order: a record is on disk before anything behind it is said.
"""

from __future__ import annotations

from dataclasses import dataclass

from auroral.workload.contracts import Contract
from auroral.workload.messages import Message
from auroral.workload.records import Record
from auroral.workload.values import Load, Task


@dataclass(frozen=True, slots=True)
class Started:
    """It begins to live, with what it wrote in its earlier lives."""

    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Woken:
    """A time that it asked to be woken at has come."""


@dataclass(frozen=True, slots=True)
class Received:
    sender: str
    message: Message


@dataclass(frozen=True, slots=True)
class Submitted:
    """A client wants this to run."""

    task: Task


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A client does not want it any more."""

    name: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What a task that runs here takes now."""

    name: str
    load: Load


@dataclass(frozen=True, slots=True)
class Signed:
    """A contract was made off line, or its terms were changed."""

    contract: Contract


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A contract holds no longer."""

    buyer: str
    seller: str


Event = Started | Woken | Received | Submitted | Withdrawn | Measured | Signed | Cancelled


@dataclass(frozen=True, slots=True)
class Write:
    record: Record


@dataclass(frozen=True, slots=True)
class Send:
    to: str
    message: Message


@dataclass(frozen=True, slots=True)
class WakeAt:
    time: float


Effect = Write | Send | WakeAt
