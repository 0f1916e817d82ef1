"""That lanes overtake one another is what the protocol can take: simulated, with all guarantees checked.

`sim.network` keeps one order between two cores; a transport keeps one for each lane (`wire.lanes`).
"""

from __future__ import annotations

from functools import partial

import pytest

from auroral.dpc.values import Message
from auroral.sim.campaign import run_seed
from auroral.sim.network import SLOWER, Connection, Network
from auroral.wire.lanes import Way, stream_of, way_of

pytestmark = pytest.mark.slow

LATER = {Way.CONTROL: 0.0, Way.FRESH: 0.005, Way.CORRECT: 0.01}
"""Seconds by which frames may come later than heartbeats."""


class Lanes:
    """Takes the place of `Network.send`."""

    def __init__(self, apart: bool):
        self.apart = apart
        """Whether the two lanes of a stream overtake one another, as where a reader does not keep up."""
        self.arrivals: dict[int, tuple[Network, dict[tuple[object, ...], float]]] = {}
        """By network, of which a run has several: when what was sent last on a lane arrives."""

    def send(self, network: Network, sender: str, to: str, message: Message) -> None:
        pair, way = (sender, to), way_of(message)
        connection = network.connections.setdefault(pair, Connection())
        if connection.closing:
            return
        if connection.gone or to not in network.lives:
            wait = network.latency if to in network.lives else network.reset_after
            network.at(network.now + wait, partial(network._find_gone, pair, connection.number))
            return
        taken = network.latency + network.random.random() * (network.jitter + LATER[way])
        if network.slow and frozenset((network.hosts[sender], network.hosts[to])) in network.slow:
            taken += SLOWER
        _, latest = self.arrivals.setdefault(id(network), (network, {}))
        control = (*pair, connection.number)
        lane = control if way is Way.CONTROL else (*control, stream_of(message), way if self.apart else "")
        latest[lane] = max(latest.get(lane, 0.0), latest.get(control, 0.0), network.now + taken)
        network.at(latest[lane], partial(network._arrive, pair, connection, connection.number, message))


@pytest.mark.parametrize(("seed", "apart"), [(2, False), (4, True)])
def test_guarantees_hold_though_lanes_overtake(seed: int, apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = Lanes(apart)
    monkeypatch.setattr(Network, "send", lambda network, *message: lanes.send(network, *message))
    outcome = run_seed(seed)
    assert not outcome.violations, str(outcome)
    assert outcome.events > 10_000 and lanes.arrivals
