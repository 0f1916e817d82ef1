"""Update queues, bucket by bucket."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.queue import SUPERSEDED, Cuts, TypedQueue
from auroral.model.stream import StreamType
from auroral.reference.bybucket import ByBucket
from auroral.reference.machine import Outlet, picked
from auroral.reference.rows import Key, Row, equality_key, values_key


class QueueMachine(ByBucket):
    def __init__(self, box: TypedQueue, inputs: Sequence[StreamType], outlet: Outlet):
        super().__init__(box.bucket)
        self.box, (self.stream,) = box, inputs
        self.outlet = outlet

    def over(self, number: int, rows: list[Row]) -> None:
        places: dict[Key, list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(equality_key(picked(row, self.stream, self.box.key)), []).append(place)
        self.outlet.count(SUPERSEDED, len(rows) - len(places))
        kind, firsts = self.box.kind, sorted(found[0] for found in places.values())
        ahead = rows[len(rows) // 2 if kind.middle else 0].stime
        kept = list(places.values())
        if kind.cuts is Cuts.ORDERED:
            kept.sort(key=lambda found: values_key(picked(rows[found[-1]], self.stream, self.box.key)))
        for turn, found in enumerate(kept):
            stime, place = rows[found[0]].stime, found[0]
            if kind.cuts is Cuts.ORDERED:
                place = firsts[turn]
                stime = rows[place].stime
            elif kind.cuts is not Cuts.NONE and (len(found) > 1) == (kind.cuts is Cuts.UPDATED):
                stime = min(stime, ahead)
            self.outlet.emit(0, Row(stime, rows[found[-1]].values, (place,)))
