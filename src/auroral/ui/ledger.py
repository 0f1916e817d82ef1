"""Rows that did not go the ordinary way, and buckets that are lost, by stream and reason: all that `auroral status` counts of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from auroral.ui.conditions import Status


def ledger(status: Status) -> list[dict[str, Any]]:
    """Empty where nothing was left out. Replicas compute the same: of those that count a reason, the highest number holds."""
    found: Counter[tuple[str, str, str]] = Counter()
    for name, said in status.items():
        if said is None:
            continue
        for reason, count in said.get("ledger", {}).items():
            found[name, reason, "rows"] = count
        for what, count in said.get("left_out", {}).items():
            box, _, reason = what.partition(": ")
            found[box, reason, "rows"] = max(count, found[box, reason, "rows"])
        for stream, one in said.get("streams", {}).items():
            for key, reason in (("missed", "lost in a gap"), ("tentative_let_go", "tentative, not kept for readers")):
                found[stream, reason, "buckets"] = one.get(key, 0)
    rows = [
        {"stream": stream, "reason": reason, "count": count, "of": of}
        for (stream, reason, of), count in found.items()
        if count
    ]
    return sorted(rows, key=lambda row: (row["stream"], row["reason"]))
