"""Boxes of Borealis and Aurora that go by rows: sorts, waitfor, resample, xsection, and what users of Borealis added.

Of wsort, resample and xsection no file is known: their parameters are named as those of the boxes that have the like. Of combine and
lrwaitfor only the parameters are known.
"""

from __future__ import annotations

import re

from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.duration import UNITS
from auroral.model.expression import parse_aggregate
from auroral.model.xml.parameters import LARGEST, Parameters, Shape

BSORT = Shape(("order-on", "slack"), ("group-by",))
WSORT = Shape(("order-on", "timeout"), ("group-by",))
WAITFOR = Shape(("predicate", "timeout"))
RESAMPLE = Shape(("out-field.N", "window-size"), ("out-field-name.N", "group-by"))
COMBINE = Shape(("key-field", "expression.N"), ("output-field-name.N",))
LRWAITFOR = Shape(("key-field",), ("group-by", "start-key-value", "use-data-as-first-key-value"))
XSECTION = Shape(("aggregate-function.N", "group-by"), ("aggregate-function-output-name.N", "window-size"))


def bsort(parameters: Parameters, _inputs: int) -> BoxSpec:
    return BSort(parameters.names("order-on"), parameters.whole("slack") or 0, parameters.names("group-by"))


def wsort(parameters: Parameters, _inputs: int) -> BoxSpec:
    timeout = parameters.number("timeout", 0, above=True) or 1
    return WSort(parameters.names("order-on"), timeout, parameters.names("group-by"))


def waitfor(parameters: Parameters, _inputs: int) -> BoxSpec:
    timeout = parameters.number("timeout", 0, above=True) or 1
    return WaitFor(parameters.expression("predicate") or "", timeout)


def resample(parameters: Parameters, _inputs: int) -> BoxSpec:
    fields, names = parameters.run("out-field"), parameters.run("out-field-name")
    pairs = tuple((names[n] if n < len(names) else field, field) for n, field in enumerate(fields))
    return Resample(pairs, _microseconds(parameters) or 0, parameters.names("group-by"))


def xsection(parameters: Parameters, _inputs: int) -> BoxSpec:
    calls = parameters.expressions("aggregate-function", parse_aggregate)
    names = parameters.run("aggregate-function-output-name")
    named = tuple((names[n] if n < len(names) else f"agg_{n}", call) for n, call in enumerate(calls))
    return XSection(named, parameters.names("group-by"), _microseconds(parameters))


def combine(parameters: Parameters, _inputs: int) -> BoxSpec:
    expressions, names = parameters.expressions("expression"), parameters.run("output-field-name")
    columns = []
    for number, expression in enumerate(expressions):
        bare = re.fullmatch(r"(?:\w+\.)?(\w+)", expression)
        columns.append((names[number] if number < len(names) else bare[1] if bare else f"field_{number}", expression))
    return Combine(parameters.text("key-field") or "", tuple(columns))


def lrwaitfor(parameters: Parameters, _inputs: int) -> BoxSpec:
    start = parameters.number("start-key-value", -LARGEST)
    from_data = bool(parameters.flag("use-data-as-first-key-value"))
    return LRWaitFor(parameters.text("key-field") or "", parameters.names("group-by"), start, from_data)


def _microseconds(parameters: Parameters) -> int | None:
    """A length of stime, which files have in seconds."""
    seconds = parameters.number("window-size", 0)
    return None if seconds is None else round(seconds * UNITS["s"])
