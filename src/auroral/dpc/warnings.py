"""What people should know of before anything fails: a bound that leaves too little time, inputs that come far apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.events import Report
from auroral.dpc.sunion import SUnion


def warnings(union: SUnion) -> Iterator[Report]:
    """All that hold for an output."""
    settings, stream = union.settings, union.spec.stream
    if union.aside + settings.detection > settings.bound:
        yield Report(
            "bound too short",
            stream,
            detail=f"the bound is {settings.bound:g} s; a failure is noticed after {settings.detection:g} s, and from here to the last "
            f"outputs {union.aside:.2f} s are needed, {union.own_time:.2f} s of them for a job of this node",
        )
    name, offset = union.offsets.latest
    if offset > settings.bound / 4:
        # Deadlines count from when it usually comes; or, if that is later than they are, all is tentative without any failure.
        yield Report(
            "inputs far apart",
            stream,
            detail=f"{name} usually comes {offset:.2f} s after the first input, which is more than a quarter of the bound of "
            f"{settings.bound:g} s; is its clock right?",
        )


@dataclass(slots=True)
class Warnings:
    unions: Mapping[str, SUnion]
    """By output."""
    said: set[tuple[str, str]] = field(default_factory=set)
    """Kinds and streams of those that hold."""

    def new(self) -> Iterator[Report]:
        """Those that did not hold before."""
        holding = [report for union in self.unions.values() for report in warnings(union)]
        yield from (report for report in holding if (report.kind, report.stream) not in self.said)
        self.said = {(report.kind, report.stream) for report in holding}
