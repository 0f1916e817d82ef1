"""Boxes of Borealis files that drop rows or whole windows."""

from __future__ import annotations

from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.xml.parameters import Parameters, Shape
from auroral.model.xml.stime_windows import KIND, SIZES, STIME, stime_sizes
from auroral.model.xml.windowed import ORDER_BYS, SIZE_BYS

_SEED = "auroral:seed"
RANDOM_DROP = Shape(
    ("drop_rate", "max_batch_size"),
    ours=(_SEED,),
    idle={"max_batch_size": "each row stays or goes by a hash of its own, never in batches"},
)
WINDOW_DROP = Shape(
    ("drop_rate", "max_batch_size", "window-size", "window-slide", "window-size-by", "order-by"),
    ("order-on-field", "group-by"),
    ours=(KIND, *SIZES, _SEED, "auroral:group-by.N"),
    instead={KIND: ("window-size", "window-slide", "window-size-by", "order-by")},
)


def random_drop(parameters: Parameters, _inputs: int) -> BoxSpec:
    batch = parameters.whole("max_batch_size", 1)
    if batch is not None and batch > 1:
        parameters.warn(
            "max_batch_size",
            f"max_batch_size is {batch}, which does nothing: each row stays or goes by a hash of its own",
            "drop whole windows with window_drop, or leave it at 1",
        )
    return RandomDrop(parameters.number("drop_rate", 0, 1) or 0.0, batch or 1, parameters.text(_SEED))


def window_drop(parameters: Parameters, _inputs: int) -> BoxSpec:
    rate, batch = parameters.number("drop_rate", 0, 1), parameters.whole("max_batch_size", 1)
    group_by, seed = parameters.names("group-by"), parameters.text(_SEED)
    if parameters.choice(KIND, (STIME,)) is not None:
        size, advance = stime_sizes(parameters)
        return WindowDrop(rate or 0.0, batch or 1, size, advance, None, group_by, seed=seed)
    tuples = parameters.choice("window-size-by", SIZE_BYS) == "TUPLES"
    by_field = parameters.choice("order-by", ORDER_BYS) == "FIELD"
    field = parameters.text("order-on-field")
    if not field and (by_field or not tuples) and not parameters.failed:
        parameters.fail(
            "'order-on-field' is needed with window-size-by VALUES or order-by FIELD",
            at="order-by",
            allowed="the field that the windows are on",
            next_step='add <parameter name="order-on-field" value="..."/>',
        )
    sizes = [parameters.number(name, 0, above=True) or 1 for name in ("window-size", "window-slide")]
    by_values = not tuples and not by_field
    return WindowDrop(rate or 0.0, batch or 1, sizes[0], sizes[1], field or None, group_by, tuples, by_values, seed)
