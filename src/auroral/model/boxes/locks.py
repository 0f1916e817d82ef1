"""Lock and unlock: rows with the same key pass a lock one after the other, each when the one before it was unlocked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.tables import ORDER, region_facts
from auroral.model.stream import StreamType
from auroral.model.types import FieldType


def _facts(state: str) -> BoxFacts:
    waited = "the row's; one that waited has that of the row that let it go"
    return region_facts("1 in, 1 out", shares="lockset", result_stime=waited, state=state)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLockBox(TypedBox):
    lockset: str
    key: tuple[str, ...]
    locks: bool

    @property
    def key_types(self) -> tuple[FieldType, ...]:
        return tuple(self.outputs[0].schema[name] for name in self.key)


@dataclass(frozen=True, slots=True)
class LockSpec:
    lockset: str
    key: tuple[str, ...]

    @property
    def shares(self) -> tuple[str, ...]:
        return (f"lockset {self.lockset}",)

    def _resolved(
        self, inputs: Sequence[StreamType], outputs: int, report: Report, kind: str, locks: bool
    ) -> TypedBox | None:
        if not expect_ports(report, kind, inputs, outputs, 1, 1):
            return None
        if not self.key:
            report.add(f"{kind} has no key", allowed="one field or more", next_step="name the fields to lock by")
            return None
        known = [report.field(name, inputs[0]) for name in self.key]
        if not all(known):
            return None
        return TypedLockBox(
            outputs=(StreamType(inputs[0].schema, () if locks else inputs[0].clocks, ORDER),),
            box_class=BoxClass.FOLD,
            required=(False,),
            order_sensitive=True,
            lockset=self.lockset,
            key=self.key,
            locks=locks,
        )


@dataclass(frozen=True, slots=True)
class Lock(LockSpec):
    """A row passes where its key is free, and holds it; others wait."""

    type: ClassVar[str] = "lock"
    facts: ClassVar[BoxFacts] = _facts("keys that are held, and rows that wait")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        return self._resolved(inputs, outputs, report, "lock", True)


@dataclass(frozen=True, slots=True)
class Unlock(LockSpec):
    """A row passes, is followed to its end, and then frees its key: the first row that waits for it passes its lock."""

    type: ClassVar[str] = "unlock"
    facts: ClassVar[BoxFacts] = _facts("none of its own")

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        return self._resolved(inputs, outputs, report, "unlock", False)
