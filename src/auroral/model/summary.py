"""The parameters of a box in a few words, for pictures."""

from __future__ import annotations

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import ALL, Join, JoinBuffer, JoinKind
from auroral.model.boxes.local_clock import OnLocalClock
from auroral.model.boxes.locks import LockSpec
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.revisable import Revisable
from auroral.model.boxes.revision import Revision
from auroral.model.boxes.serialize import SUnion
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map
from auroral.model.boxes.tables import TableSpec
from auroral.model.boxes.user import UserBox
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.duration import spell
from auroral.model.on_error import OnError
from auroral.model.windows import (
    Alignment,
    EventTimeWindow,
    FieldWindow,
    Landmark,
    Runs,
    StimeWindow,
    TupleWindow,
    Window,
)


def summary(spec: BoxSpec) -> str:
    """Such as `10s / 1s by src` for an aggregate; empty where there is nothing to say."""
    match spec:
        case Filter(predicates=predicates, on_error=on_error):
            return " | ".join(str(predicate) for predicate in predicates) + _failing(on_error)
        case Map(columns=columns, on_error=on_error):
            return ", ".join(name for name, _ in columns) + _failing(on_error)
        case Aggregate(window=window, group_by=group_by):
            return " ".join([window_words(window), *(["by " + ", ".join(group_by)] if group_by else [])])
        case Join(predicate=predicate, left=left, right=right, kind=kind):
            outer = "" if kind is JoinKind.INNER else f"{kind} "
            sizes = _buffer(left) if left == right else f"{_buffer(left)}, {_buffer(right)}"
            return f"{outer}{predicate} within {sizes}"
        case BSort(order_on=order_on, slack=slack):
            return f"{', '.join(order_on)} of {slack + 1} rows"
        case WSort(order_on=order_on, timeout=timeout):
            return f"{', '.join(order_on)} within {timeout:g}s"
        case WaitFor(predicate=predicate, timeout=timeout):
            return f"{predicate} within {timeout:g}s"
        case Resample(fields=fields, within=within):
            return f"{', '.join(name for name, _ in fields)} within {spell(within)}"
        case Combine(key=key) | LRWaitFor(key=key):
            return f"by {key}"
        case XSection(across=across):
            return "across " + ", ".join(across)
        case Apply(function=function, past=past):
            name = getattr(function, "__name__", type(function).__name__)
            return f"{name} over {spell(past)}" if past else name
        case OnLocalClock(inner=inner):
            return f"{summary(inner)}, by the clock"
        case UserBox():
            return ", ".join(f"{parameter.field} {parameter.text(value)}" for parameter, value in spec.given())
        case Revision(like=like):
            return summary(like)
        case Revisable(keep=keep, key=key):
            return f"{spell(keep)} by {', '.join(key) or 'stime'}"
        case RandomDrop(rate=rate) | WindowDrop(rate=rate):
            return f"{rate:.3g}"
        case Delay(delay_ms=delay):
            return f"{delay}ms" if delay else "same rows"
        case SUnion(interval_ms=interval):
            return f"{interval}ms"
        case TableSpec(sql=sql):
            return sql
        case LockSpec(lockset=lockset, key=key):
            return f"{lockset} by {', '.join(key)}"
        case _:
            return ""


def _failing(on_error: OnError) -> str:
    return "; rejects rows that fail" if on_error is OnError.REJECT else ""


def window_words(window: Window) -> str:
    match window:
        case StimeWindow(size, advance, alignment):
            first = " from the first row" if alignment is Alignment.FIRST else ""
            return (spell(size) if size == advance else f"{spell(size)} / {spell(advance)}") + first
        case EventTimeWindow(field=name, size=size, advance=advance):
            return f"{spell(size)} / {spell(advance)} of {name}"
        case FieldWindow(field=name, size=size, advance=advance):
            return f"{size:g} / {advance:g} of {name}"
        case TupleWindow(size, advance, field=name):
            return f"{size} / {advance} rows" + (f" by {name}" if name else "")
        case Landmark():
            return "running"
        case Runs():
            return "runs"


def _buffer(buffer: JoinBuffer) -> str:
    if buffer.tuples:
        return "all rows" if buffer == ALL else f"{buffer.size:g} rows"
    return spell(round(buffer.size)) if buffer.field is None else f"{buffer.size:g} of {buffer.field}"
