"""A user's box that keeps a state, as a fold. A row's values are all of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from auroral.engine.failures import marked
from auroral.engine.fold import Given, Result, Row
from auroral.engine.statecodec import encoded
from auroral.model.boxes.user_fold import After, FoldCalls


@dataclass(slots=True)
class UserFold:
    box: str
    calls: FoldCalls
    key: Row = ()
    current: Any = None
    next: int | None = None

    reasons: ClassVar[tuple[str, ...]] = ()

    def start(self, key: Row, state: Any) -> None:
        self.key, self.current = key, state
        self.next = self._called("due", lambda: self.calls.due(state))

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        after = self._called("row", lambda: self.calls.row(self.current, port, stime, values), values)
        return self._given(after, port, stime, order)

    def due(self) -> int | None:
        return self.next

    def boundary(self, stime: int) -> Iterator[Given]:
        after = self._called("timeout", lambda: self.calls.timeout(self.current, self.key, stime), self.key)
        return self._given(after, -1, stime - 1, ())

    def state(self) -> Any:
        # Here, where the box is known that it is of.
        self._called("state", lambda: encoded(self.current))
        return self.current

    def _given(self, after: After, port: int, stime: int, order: Row) -> Iterator[Given]:
        self.current, self.next = after.state, after.due
        for number, values in enumerate(after.results):
            yield Result(stime, self.calls.typed.order(port, order, self.key, number), values)

    def _called(self, method: str, call: Callable[[], Any], given: Any = None) -> Any:
        try:
            return call()
        except BaseException as error:
            raise marked(f"box {self.box!r}: {method}", error, given) from error
