"""Users' boxes that keep a state."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.user_fold import After, FoldCalls, TypedUserFold
from auroral.model.stream import StreamType
from auroral.reference.machine import Outlet, picked
from auroral.reference.rows import Key, Row, Values, equality_key, group_value


class UserFoldMachine:
    def __init__(self, box: TypedUserFold, inputs: Sequence[StreamType], outlet: Outlet):
        self.box, self.inputs, self.outlet = box, inputs, outlet
        self.calls = FoldCalls(box)
        self.keys: dict[Key, tuple[Values, After]] = {}

    def on_row(self, port: int, row: Row) -> None:
        key = tuple(map(group_value, picked(row, self.inputs[port], self.box.key)))
        _, before = self.keys.get(equality_key(key), (key, After(None, None, [])))
        after = self.calls.row(before.state, port, row.stime, row.values)
        self._take(key, after, port, row.stime, row.order)

    def on_boundary(self, stime: float) -> None:
        for key, _ in list(self.keys.values()):
            while (due := self.keys[equality_key(key)][1].due) is not None and due <= stime:
                after = self.calls.timeout(self.keys[equality_key(key)][1].state, key, due)
                self._take(key, after, -1, due - 1, ())

    def _take(self, key: Values, after: After, port: int, stime: int, order: Values) -> None:
        self.keys[equality_key(key)] = (key, after)
        for number, values in enumerate(after.results):
            self.outlet.emit(0, Row(stime, values, self.box.order(port, order, key, number)))
