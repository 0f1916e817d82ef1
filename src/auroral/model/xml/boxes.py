"""Box types of Borealis files, and how each becomes a box of Auroral (X3, X4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.later import Later
from auroral.model.boxes.revisable import Revisable, Settled
from auroral.model.boxes.revision import DOWNSTREAM, UPSTREAM, Revision
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.on_error import OnError
from auroral.model.xml import rowwise
from auroral.model.xml.drops import RANDOM_DROP, WINDOW_DROP, random_drop, window_drop
from auroral.model.xml.parameters import Parameters, Shape
from auroral.model.xml.stime_windows import KIND, WINDOW_PARAMETERS
from auroral.model.xml.tabled import TABLE_MAKERS, TABLE_SHAPES
from auroral.model.xml.windowed import (
    JOIN_PARAMETERS,
    LOCAL_CLOCK,
    LOOKS,
    ROW_WINDOW_PARAMETERS,
    SIDES,
    WITHIN,
    aggregate,
    join,
    joinstatic,
)

_ON_ERROR, _GROUP_BY = "auroral:on-error", "auroral:group-by.N"
_NO_DROPS = "an aggregate knows by itself which windows a window_drop before it left out"
_SYSTEM = "the system decides it for each node, by the bound and by what it measures"
_FILTER = Shape(("expression.N",), ("pass-on-false-port",), ours=(_ON_ERROR,), sql=("expression",))
_MAP = Shape(("expression.N", "output-field-name.N"), ours=(_ON_ERROR,), sql=("expression",))
_AGGREGATE = Shape(
    ("window-size", "advance", "window-size-by", "order-by", "aggregate-function.N"),
    (
        *(
            "order-on-field",
            "aggregate-function-output-name.N",
            "group-by",
            "timeout",
            "slack",
            "drop-empty-outputs",
        ),
        *("independent-window-alignment", "drop-mode", "last-agg"),
    ),
    idle={
        "drop-empty-outputs": "a window without rows never has a result",
        "drop-mode": _NO_DROPS,
        "last-agg": _NO_DROPS,
    },
    ours=(*WINDOW_PARAMETERS, *ROW_WINDOW_PARAMETERS, LOCAL_CLOCK, _GROUP_BY),
    instead={KIND: ("window-size", "advance", "window-size-by", "order-by")},
)
_JOIN_COMMON = ("left-order-on-field", "right-order-on-field", "out-field.N", "out-field-name.N", "timeout")


def _join_shape(left: str, right: str, *more: str) -> Shape:
    """Of one of the joins, which differ in what they call the sizes of their buffers."""
    return Shape(
        ("predicate", "left-order-by", "right-order-by", left, right),
        (*_JOIN_COMMON, *more),
        # An sjoin has words of its own for the sides that look.
        ours=(*JOIN_PARAMETERS, *(() if "leftjoin" in more else LOOKS)),
        instead={WITHIN[0]: ("left-order-by", left), WITHIN[1]: ("right-order-by", right)},
        sql=("predicate", "out-field"),
    )


_DELAY = Shape(
    ("delay-ms",),
    ("churn", "selectivity"),
    idle={
        "churn": "the cost of a row is engine time, however it is spent",
        "selectivity": "a delay passes every row; random_drop drops rows",
    },
)
_ANY = Shape(known=False)


_NO_HISTORY = dict.fromkeys(("processing-mode", "anchor"), "it needs no history: rows are revised one by one")
_ALIGNED = {"independent-window-alignment": "windows begin at multiples of advance: a group's first row may be revised"}
_NO_INVERSE = {"inverse.N": "a history has the rows themselves: none has to be found by its result"}


def _revision(of: Shape, idle: Mapping[str, str], *more: str) -> Shape:
    # Borealis asked for processing-mode only when a box started, and old files lack it.
    return replace(of, optional=(*of.optional, "processing-mode", "anchor", *more), idle={**of.idle, **idle})


SHAPES: dict[str, Shape] = {
    "filter": _FILTER,
    "map": _MAP,
    "union": Shape(),
    "aggregate": _AGGREGATE,
    "join": _join_shape("left-buffer-size", "right-buffer-size"),
    "aurorajoin": _join_shape("down-size", "up-size"),
    "sjoin": _join_shape("left-buffer-size", "right-buffer-size", "leftjoin", "rightjoin"),
    "random_drop": RANDOM_DROP,
    "window_drop": WINDOW_DROP,
    "sunion": Shape(
        ("interval", "location", "max-delay.N", "stagger"),
        ("should-reconcile", "benchmark"),
        idle=dict.fromkeys(("location", "stagger", "should-reconcile", "benchmark"), _SYSTEM),
    ),
    "soutput": _ANY,
    "delay": _DELAY,
    "delay_sel": _DELAY,
    "bsort": rowwise.BSORT,
    "wsort": rowwise.WSORT,
    "waitfor": rowwise.WAITFOR,
    "resample": rowwise.RESAMPLE,
    "xsection": rowwise.XSECTION,
    **TABLE_SHAPES,
    "revisionfilter": _revision(_FILTER, _NO_HISTORY),
    "revisionmap": _revision(_MAP, {**_NO_HISTORY, **_NO_INVERSE}, "inverse.N"),
    "revisionaggregate": _revision(_AGGREGATE, _ALIGNED),
    "revisable": Shape(("keep",), ("key",), ours=("auroral:key.N",)),
    "settled": Shape(),
    "joinstatic": Shape(
        ("predicate",), ("out-field.N", "out-field-name.N"), ours=(SIDES,), sql=("predicate", "out-field")
    ),
    "combine": rowwise.COMBINE,
    "lrwaitfor": rowwise.LRWAITFOR,
    **dict.fromkeys(("connectionpoint", "sweeper", "scontrol"), _ANY),
}

OUR_TYPES = {"revisable", "settled"}
"""Those of them that Borealis does not know."""

# Boxes of array and video research, by name or by how their names begin (X4).
ARRAY_BOXES = (
    *("scatter", "gather", "filter_array", "map_frame*", "edge_detect", "contrast*", "chunk_assembler"),
    *("delta_*", "face_detect*", "regrid", "render*", "merge", "join_fits", "concatenate"),
)


def is_array_box(type_name: str) -> bool:
    return (
        any(type_name.startswith(known[:-1]) if known.endswith("*") else type_name == known for known in ARRAY_BOXES)
        or "_array" in type_name
        or type_name.startswith("array")
    )


def spec_of(type_name: str, parameters: Parameters, inputs: int) -> BoxSpec:
    """The box that `parameters` describe; not to be used where these are wrong, which they say (`failed`)."""
    make = _MAKERS.get(type_name)
    return make(parameters, inputs) if make is not None else Later(type_name, parameters.rest())


def _filter(parameters: Parameters, _inputs: int) -> BoxSpec:
    on_error = parameters.one_of(_ON_ERROR, OnError, OnError.STOP)
    return Filter(parameters.sources("expression"), bool(parameters.flag("pass-on-false-port")), on_error)


def _map(parameters: Parameters, _inputs: int) -> BoxSpec:
    columns = parameters.columns("expression", "output-field-name")
    return Map(columns, parameters.one_of(_ON_ERROR, OnError, OnError.STOP))


def _union(_parameters: Parameters, _inputs: int) -> BoxSpec:
    return Union()


def _sunion(parameters: Parameters, inputs: int) -> BoxSpec:
    interval = parameters.whole("interval", 1)
    parameters.choice("location", ("input", "middle"))
    parameters.flag("stagger")
    delays = [parameters.whole(f"max-delay.{n}") for n in range(len(parameters.run("max-delay")))]
    if len(delays) < inputs and "max-delay.0" in parameters.given:
        parameters.fail(
            f"parameter 'max-delay.{len(delays)}' is required and missing: the box has {inputs} inputs",
            "one max-delay for each input",
            f'add <parameter name="max-delay.{len(delays)}" value="..."/>',
        )
    elif len(delays) > inputs:
        parameters.warn(f"max-delay.{inputs}", f"'max-delay.{inputs}' has no meaning: the box has {inputs} inputs")
    given = tuple(delay or 0 for delay in delays[:inputs])
    return SUnion(interval or 1, given, parameters.rest("interval", "max-delay"))


def _soutput(parameters: Parameters, _inputs: int) -> BoxSpec:
    return SOutput(parameters.rest())


def _delay(type_name: str) -> Callable[[Parameters, int], BoxSpec]:
    def make(parameters: Parameters, _inputs: int) -> BoxSpec:
        # `churn` said whether the box burns cycles or sleeps; here its cost is engine time either way.
        delay = parameters.number("delay-ms", 0) or 0
        if delay != int(delay):
            parameters.warn("delay-ms", f"delay-ms is {delay}; it is rounded to {round(delay)}")
        selectivity = parameters.number("selectivity", 0)
        if selectivity is not None and selectivity != 1:
            parameters.warn(
                "selectivity",
                "selectivity is kept but has no effect: a delay passes every row",
                "drop rows with random_drop",
            )
        return Delay(round(delay), 1.0 if selectivity is None else selectivity, type_name)

    return make


def _revision_of(base: Callable[[Parameters, int], BoxSpec]) -> Callable[[Parameters, int], BoxSpec]:
    """The maker of a box that has the parameters of another, and where its history is."""

    def make(parameters: Parameters, inputs: int) -> BoxSpec:
        like = base(parameters, inputs)
        assert isinstance(like, Filter | Map | Aggregate)
        mode = parameters.choice("processing-mode", (UPSTREAM, DOWNSTREAM))
        written = re.split(r"[\s,]+", parameters.text("anchor") or "")
        anchors = tuple(parameters.notes.folded(name) for name in written if name)
        return Revision(like, mode, anchors, parameters.run("inverse"))

    return make


def _revisable(parameters: Parameters, _inputs: int) -> BoxSpec:
    return Revisable(parameters.length("keep") or 0, parameters.names("key"))


def _settled(_parameters: Parameters, _inputs: int) -> BoxSpec:
    return Settled()


_MAKERS: dict[str, Callable[[Parameters, int], BoxSpec]] = {
    "filter": _filter,
    "map": _map,
    "union": _union,
    "aggregate": aggregate,
    "join": join("join", "left-buffer-size", "right-buffer-size"),
    "aurorajoin": join("aurorajoin", "down-size", "up-size"),
    "sjoin": join("sjoin", "left-buffer-size", "right-buffer-size"),
    "joinstatic": joinstatic,
    "combine": rowwise.combine,
    "lrwaitfor": rowwise.lrwaitfor,
    "bsort": rowwise.bsort,
    "wsort": rowwise.wsort,
    "waitfor": rowwise.waitfor,
    "resample": rowwise.resample,
    "xsection": rowwise.xsection,
    "random_drop": random_drop,
    "window_drop": window_drop,
    "sunion": _sunion,
    "soutput": _soutput,
    "delay": _delay("delay"),
    "delay_sel": _delay("delay_sel"),
    **TABLE_MAKERS,
    "revisionfilter": _revision_of(_filter),
    "revisionmap": _revision_of(_map),
    "revisionaggregate": _revision_of(aggregate),
    "revisable": _revisable,
    "settled": _settled,
}
