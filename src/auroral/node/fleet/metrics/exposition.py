"""Samples as text, in the exposition format of Prometheus (version 0.0.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.histogram import Histogram
from auroral.node.fleet.metrics.families import BY_NAME, FAMILIES

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    """Of its family."""
    value: float | Histogram
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert tuple(self.labels) == BY_NAME[self.name].labels, f"{self.name}: {tuple(self.labels)}"


def text(process: str, samples: Iterable[Sample]) -> str:
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    lines: list[str] = []
    for family in FAMILIES:
        if family.name in by_name:
            lines += [f"# HELP {family.name} {family.meaning}", f"# TYPE {family.name} {family.kind}"]
            for sample in by_name[family.name]:
                lines += _lines(sample, {"process": process, **sample.labels})
    return "\n".join([*lines, ""])


def _lines(sample: Sample, labels: Mapping[str, str]) -> Iterator[str]:
    if not isinstance(sample.value, Histogram):
        yield f"{sample.name}{_labels(labels)} {_number(sample.value)}"
        return
    for step, count in sample.value.up_to():
        yield f"{sample.name}_bucket{_labels({**labels, 'le': _number(step)})} {count}"
    yield f"{sample.name}_sum{_labels(labels)} {_number(sample.value.total)}"
    yield f"{sample.name}_count{_labels(labels)} {sample.value.count}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(int(value)) if value == int(value) else repr(float(value))
