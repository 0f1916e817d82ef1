"""Proxies of sources and clients that come back (D73, D74)."""

from __future__ import annotations

from auroral.dpc.client import Client
from auroral.dpc.events import Deliver, Logged, Received, Send, Started
from auroral.dpc.settings import Settings
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import Content, Pong, Stable, Subscribe


def test_a_source_that_comes_back_gives_what_it_logged_and_goes_on():
    settings = Settings(bucket=0.5, bound=3.0)
    source = Source("s", ("r",), settings, log_begin=3, log=(Content(13, 1), Content(14, 1)))
    effects = source.handle(Received("r", Subscribe("s", 1, Lane.BOTH, 3, False)), 9.0)
    assert effects == [Send("r", Stable("s", 1, 3, (Content(13, 1), Content(14, 1)), 2.0))]
    assert source.handle(Logged(5, Content(15, 1), True), 9.1) == [Send("r", Stable("s", 1, 5, (Content(15, 1),)))]
    assert source.outlet.kept_from == 3, "nothing is forgotten before all readers have said what they need"


def test_a_client_that_comes_back_goes_on_where_it_was():
    client = Client("c", {"o": ("p",)}, Settings(bucket=0.5, bound=3.0), {"o": 7})
    client.handle(Started(), 0.0)
    effects = client.handle(Received("p", Pong({"o": Offer(State.STABLE, frontier=9)}, {})), 0.1)
    assert Send("p", Subscribe("o", 1, Lane.BOTH, 7, False)) in effects
    given = client.handle(Received("p", Stable("o", 1, 7, (Content(7, 1),))), 0.2)
    assert Deliver("o", 7, Content(7, 1), True) in given
