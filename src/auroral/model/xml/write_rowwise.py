"""The parameters of boxes that go by rows, of table boxes and of locks."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.locks import Lock, Unlock
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.tables import Delete, Exists, Insert, Select, Update
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.xml.rowwise import WITHIN, in_microseconds
from auroral.model.xml.write_parameters import Parameter, columns, expression, flags, length, names, number


def rowwise_parameters(spec: BoxSpec) -> Iterator[Parameter] | None:
    """None where the box is none of these."""
    match spec:
        case BSort() | WSort() | WaitFor() | Resample() | XSection() | Combine() | LRWaitFor():
            return _of_rows(spec)
        case Insert() | Select() | Update() | Delete() | Exists():
            return _of_tables(spec)
        case Lock() | Unlock():
            return _of_locks(spec)
        case _:
            return None


def _of_rows(spec: BSort | WSort | WaitFor | Resample | XSection | Combine | LRWaitFor) -> Iterator[Parameter]:
    match spec:
        case BSort():
            yield from names("order-on", spec.order_on)
            yield Parameter("slack", str(spec.slack))
            yield from names("group-by", spec.group_by)
        case WSort():
            yield from names("order-on", spec.order_on)
            yield Parameter("timeout", number(spec.timeout))
            yield from names("group-by", spec.group_by)
        case WaitFor():
            yield expression("predicate", spec.predicate)
            yield Parameter("timeout", number(spec.timeout))
        case Resample():
            yield from columns("out-field", "out-field-name", spec.fields)
            yield from _within(spec.within)
            yield from names("group-by", spec.group_by)
        case XSection():
            yield from columns("aggregate-function", "aggregate-function-output-name", spec.functions)
            yield from names("group-by", spec.across)
            if spec.within is not None:
                yield from _within(spec.within)
        case Combine():
            yield Parameter("key-field", spec.key)
            yield from columns("expression", "output-field-name", spec.columns)
        case LRWaitFor():
            yield Parameter("key-field", spec.key)
            yield from names("group-by", spec.group_by)
            if spec.start is not None:
                yield Parameter("start-key-value", number(spec.start))
            yield from flags(("use-data-as-first-key-value", spec.from_data))


def _within(microseconds: int) -> Iterator[Parameter]:
    """Files have seconds; where these are too coarse, we have a length of our own."""
    seconds = f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}".rstrip("0").rstrip(".")
    if in_microseconds(float(seconds)) == microseconds:
        yield Parameter("window-size", seconds)
    else:
        yield Parameter(WITHIN, length(microseconds))


def _of_tables(spec: Insert | Select | Update | Delete | Exists) -> Iterator[Parameter]:
    yield Parameter("sql", spec.sql)
    match spec:
        case Insert():
            yield from flags(("pass-input", spec.pass_input))
        case Select():
            more = (("pass-on-no-results", spec.pass_on_no_results), ("pass-result-sizes", spec.pass_result_sizes))
            yield from flags(*more)
        case Update():
            yield from flags(("pass-input", spec.pass_input))
            yield from columns("output-expression", "output-field-name", spec.columns)
        case Delete():
            yield from flags(("pass-deletions", spec.pass_deletions), ("pass-input", spec.pass_input))


def _of_locks(spec: Lock | Unlock) -> Iterator[Parameter]:
    yield Parameter("lockset", spec.lockset)
    yield from names("key", spec.key)
