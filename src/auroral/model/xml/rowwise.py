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
from auroral.model.xml.parameters import LARGEST, Parameters, Shape
from auroral.model.xml.windowed import LOCAL_CLOCK, named_calls, on_clock

WITHIN = "auroral:within"
"""A length of time where seconds of window-size are too coarse."""
_ORDER_ON, _GROUP_BY = "auroral:order-on.N", "auroral:group-by.N"
_BY_ORDER = {"auroral:order-on.0": ("order-on",)}
BSORT = Shape(("order-on", "slack"), ("group-by",), ours=(_ORDER_ON, _GROUP_BY), instead=_BY_ORDER)
WSORT = Shape(("order-on", "timeout"), ("group-by",), ours=(_ORDER_ON, LOCAL_CLOCK, _GROUP_BY), instead=_BY_ORDER)
WAITFOR = Shape(("predicate", "timeout"), sql=("predicate",))
RESAMPLE = Shape(
    ("out-field.N", "window-size"),
    ("out-field-name.N", "group-by"),
    ours=(WITHIN, _GROUP_BY),
    instead={WITHIN: ("window-size",)},
)
COMBINE = Shape(("key-field", "expression.N"), ("output-field-name.N",), sql=("expression",))
LRWAITFOR = Shape(("key-field",), ("group-by", "start-key-value", "use-data-as-first-key-value"), ours=(_GROUP_BY,))
XSECTION = Shape(
    ("aggregate-function.N", "group-by"),
    ("aggregate-function-output-name.N", "window-size"),
    ours=(WITHIN, _GROUP_BY),
    instead={"auroral:group-by.0": ("group-by",)},
)


def bsort(parameters: Parameters, _inputs: int) -> BoxSpec:
    return BSort(parameters.names("order-on"), parameters.whole("slack") or 0, parameters.names("group-by"))


def wsort(parameters: Parameters, _inputs: int) -> BoxSpec:
    timeout = parameters.number("timeout", 0, above=True) or 1
    return on_clock(WSort(parameters.names("order-on"), timeout, parameters.names("group-by")), parameters)


def waitfor(parameters: Parameters, _inputs: int) -> BoxSpec:
    timeout = parameters.number("timeout", 0, above=True) or 1
    return WaitFor(parameters.source("predicate") or "", timeout)


def resample(parameters: Parameters, _inputs: int) -> BoxSpec:
    fields = parameters.run("out-field")
    names = parameters.names_of(len(fields), "out-field-name", "out-field")
    pairs = tuple((field if name is None else name, field) for name, field in zip(names, fields, strict=True))
    return Resample(pairs, _microseconds(parameters) or 0, parameters.names("group-by"))


def xsection(parameters: Parameters, _inputs: int) -> BoxSpec:
    return XSection(named_calls(parameters), parameters.names("group-by"), _microseconds(parameters))


def combine(parameters: Parameters, _inputs: int) -> BoxSpec:
    expressions = parameters.sources("expression")
    names = parameters.names_of(len(expressions), "output-field-name", "expression")
    columns = []
    for number, (name, expression) in enumerate(zip(names, expressions, strict=True)):
        bare = re.fullmatch(r"(?:\w+\.)?(\w+)", expression) if isinstance(expression, str) else None
        made = bare[1] if bare else f"field_{number}"
        columns.append((made if name is None else name, expression))
    return Combine(parameters.text("key-field") or "", tuple(columns))


def lrwaitfor(parameters: Parameters, _inputs: int) -> BoxSpec:
    start = parameters.number("start-key-value", -LARGEST)
    from_data = bool(parameters.flag("use-data-as-first-key-value"))
    return LRWaitFor(parameters.text("key-field") or "", parameters.names("group-by"), start, from_data)


def _microseconds(parameters: Parameters) -> int | None:
    """A length of stime, which files have in seconds."""
    own = parameters.length(WITHIN)
    seconds = parameters.number("window-size", 0)
    return own if own is not None or seconds is None else in_microseconds(seconds)


def in_microseconds(seconds: float) -> int:
    return round(seconds * UNITS["s"])
