"""What the replicas of a deployment counted of the rows that boxes leave out, against a batch run.

Each replica is compared in the buckets that it counted itself. So all of them must come to the same, and one that came back with nothing, or
came later, is no reason to pass over the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from auroral.engine.fetching import LeftOut
from auroral.model.boxes.apply import TypedApply
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.versions import times_of_boxes
from auroral.node.leftout import Counted, counted_in
from auroral.node.report import LedgerLine
from auroral.node.runfolder import RunFolder

Span = tuple[int, int]
ByBucket = dict[tuple[str, int], int]
"""How many rows, by reason and bucket."""


@dataclass(slots=True)
class _Box:
    """That may leave rows out."""

    expected: ByBucket = field(default_factory=dict)
    """As the batch run has it."""
    times: list[Span] = field(default_factory=list)
    """The buckets of versions that have it."""
    counted: list[Span] = field(default_factory=list)
    """By any replica."""

    def uncounted(self) -> int:
        return sum(end - begin for span in self.times for begin, end in _holes(self.counted, *span))


def left_out_lines(folder: RunFolder, until: int, batch: LeftOut) -> tuple[list[LedgerLine], list[str]]:
    """The sums that must come out, of rows below stime `until`; and what nobody knows."""
    deployed = Deployed.look(folder.path, folder.checked)
    bucket = folder.checked.diagram.bucket
    first, last = deployed.first, until // bucket
    boxes, unknown = _boxes(deployed, batch, bucket, last)
    lines: list[LedgerLine] = []
    for replica in counted_in(folder.path):
        for name, spans in replica.spans.items():
            if name in boxes:
                inside = [(max(b, first), min(e, last)) for b, e in spans if b < last and e > first]
                boxes[name].counted += inside
                lines += _lines(replica, name, inside, boxes[name].expected)
    for name, box in boxes.items():
        if many := box.uncounted():
            unknown.append(
                f"box {name}: nobody here counted the rows that it left out of {many} of {last - first} buckets: no replica has come so far, all lost "
                "their disks, or they are on other machines"
            )
    return lines, unknown


def _boxes(deployed: Deployed, batch: LeftOut, bucket: int, last: int) -> tuple[dict[str, _Box], list[str]]:
    """By their names; and what cannot be compared."""
    found: dict[str, _Box] = {}
    unknown: list[str] = []
    for box, called, begin, end in times_of_boxes(deployed):
        name = box.box.name
        if not box.typed.leaves_out:
            continue
        if isinstance(box.typed, TypedApply) and box.typed.cut_free:
            unknown.append(f"box {name}: one call has many buckets, so that what it left out of each is not compared")
            continue
        one = found.setdefault(name, _Box())
        one.times.append((begin // bucket, last if end is None else min(last, end // bucket)))
        for (counting, reason, at), count in batch.items():
            if counting == called and at >= begin and (end is None or at < end):
                one.expected[reason, at // bucket] = count
    return found, list(dict.fromkeys(unknown))


def _lines(replica: Counted, box: str, spans: Sequence[Span], expected: ByBucket) -> Iterator[LedgerLine]:
    ours = {(reason, at): n for (name, reason, at), n in replica.counts.items() if name == box}
    counted, there = _within(ours, spans), _within(expected, spans)
    for reason in sorted({*counted, *there}):
        what = f"box {box} at {replica.replica}: rows {reason}, in the run and in the batch run"
        yield LedgerLine(what, counted[reason], there[reason])


def _within(counts: ByBucket, spans: Iterable[Span]) -> Counter[str]:
    found: Counter[str] = Counter()
    kept = list(spans)
    for (reason, at), n in counts.items():
        if any(begin <= at < end for begin, end in kept):
            found[reason] += n
    return found


def _holes(spans: Iterable[Span], begin: int, end: int) -> Iterator[Span]:
    for first, last in sorted(spans):
        if begin < min(first, end):
            yield begin, min(first, end)
        begin = max(begin, last)
    if begin < end:
        yield begin, end
