"""Rule 3: queue options, inherited borealis -> query -> box -> in."""

from __future__ import annotations

from auroral.model.diagram import QueueOptions
from auroral.model.xml.notes import Notes
from auroral.model.xml.read import Element

QUEUE_TYPES = (
    "0 fifo, 1 in place, 2 and 3 line-cut UF front and middle, 4 and 5 line-cut DF front and middle, "
    "6 and 7 deterministic middle UF and DF, 8 line-cut by priority"
)


def queue_options(element: Element, outer: QueueOptions, notes: Notes) -> QueueOptions:
    """The options that hold for `element`: its own, and for what it does not say, those around it."""
    own = QueueOptions(_update_queue(element, notes), _queue_type(element, notes), notes.name(element, "key"))
    details = [name for name, value in (("queue_type", own.queue_type), ("key", own.key)) if value is not None]
    effective = own.inherit(outer)
    if effective.update_queue is not False:
        return effective
    if details:
        # The old parser refused this on one element only; what was switched off further out stayed off, unsaid.
        note = notes.error if own.update_queue is False else notes.warn
        note(
            element,
            f"update_queue is 0 and there is {' and '.join(details)}",
            "queue_type and key only with update_queue=1",
            f"remove {' and '.join(details)}, or set update_queue to 1",
        )
    # An element that switches the queue off does not mean the type and key of those around it either.
    return QueueOptions(update_queue=False)


def _update_queue(element: Element, notes: Notes) -> bool | None:
    text = element.attributes.get("update_queue")
    return None if text is None else notes.flag(element, "update_queue", text)


def _queue_type(element: Element, notes: Notes) -> int | None:
    text = element.attributes.get("queue_type")
    if text is None:
        return None
    if text.strip() not in tuple("012345678"):
        notes.error(element, f"queue_type is {text[:60]!r}", QUEUE_TYPES, next_step="choose one, or leave it out")
        return None
    return int(text)
