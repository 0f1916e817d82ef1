"""Who reads goes over to other producers: what a replica and a client have in common there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from auroral.dpc.events import Effect
from auroral.dpc.layout import Wiring
from auroral.dpc.monitor import Monitor
from auroral.dpc.port import Port


def can_go_over(
    ports: Mapping[str, Port], needs: Mapping[str, int], wiring: Wiring, monitor: Monitor, now: float
) -> bool:
    """Who cannot yet is told again. By then it has asked those whom it was never told of, as it was away meanwhile."""
    found = all(
        ports[stream].can_go_over(producers, needs[stream], monitor, now)
        for stream, producers in wiring.inputs.items()
        if stream in ports
    )
    if not found:
        monitor.ask_also(talks_to(wiring.inputs))
    return found


def go_over(ports: Mapping[str, Port], wiring: Wiring, monitor: Monitor) -> Iterator[Effect]:
    for stream, producers in wiring.inputs.items():
        yield from ports[stream].rewire(producers)
    monitor.rewire(talks_to(wiring.inputs, wiring.peers))


def talks_to(inputs: Mapping[str, tuple[str, ...]], peers: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Each once."""
    return tuple(dict.fromkeys((*(producer for producers in inputs.values() for producer in producers), *peers)))
