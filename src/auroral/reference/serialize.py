"""What boundaries settle: which tuples of several streams can be put in order for good (thesis, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence


def serializable(boundaries: Sequence[int | None]) -> int | None:
    """Tuples with a stime below this can be ordered for good; None while a stream has had no boundary yet.

    `boundaries` has the latest boundary of each stream: no tuple with a smaller stime follows it there.
    """
    latest = [b for b in boundaries if b is not None]
    return min(latest) if latest and len(latest) == len(boundaries) else None
