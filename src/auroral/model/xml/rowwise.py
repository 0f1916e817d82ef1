"""Boxes of Borealis and Aurora that go by rows: sorts, waitfor, resample, xsection.

Of wsort, resample and xsection no file is known: their parameters are named as those of the boxes that have the like.
"""

from __future__ import annotations

from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.duration import UNITS
from auroral.model.expression import parse_aggregate
from auroral.model.xml.parameters import Parameters, Shape

BSORT = Shape(("order-on", "slack"), ("group-by",))
WSORT = Shape(("order-on", "timeout"), ("group-by",))
WAITFOR = Shape(("predicate", "timeout"))
RESAMPLE = Shape(("out-field.N", "window-size"), ("out-field-name.N", "group-by"))
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


def _microseconds(parameters: Parameters) -> int | None:
    """A length of stime, which files have in seconds."""
    seconds = parameters.number("window-size", 0)
    return None if seconds is None else round(seconds * UNITS["s"])
