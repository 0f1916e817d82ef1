"""What happens in virtual time: one thing after the other, by its time and then in the order in which it was asked for."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any


class Timeline:
    """Of a world, which has these."""

    now: float
    heap: list[tuple[float, int, Callable[[], None]]]
    count: int
    network: Any

    def at(self, time: float, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.heap, (time if time > self.now else self.now, self.count, action))

    def run(self, until: float) -> None:
        heap, network = self.heap, self.network
        while heap and heap[0][0] <= until:
            self.now, _, action = heapq.heappop(heap)
            network.now = self.now
            action()
        self.now = network.now = until
