"""For programs outside of a deployment, on any machine: needs neither Spark nor Java.

`Sender` brings rows to an input. `connect` gives a `Client` of the outputs: `subscribe` yields what happens to one, `table` is what holds
of it now.
"""

from auroral.client.connecting import Client, connect
from auroral.client.errors import ClientError, Unreachable
from auroral.client.events import Confirmed, Corrected, Event, Gap, Stable, Tentative
from auroral.client.sender import AnotherSender, NoSource, RowsRefused, Sender, SenderError
from auroral.client.subscription import Subscription
from auroral.dpc.tuples import Tuple, TupleType

__all__ = [
    "Sender",
    "SenderError",
    "AnotherSender",
    "NoSource",
    "RowsRefused",
    "connect",
    "Client",
    "Subscription",
    "Event",
    "Stable",
    "Confirmed",
    "Corrected",
    "Tentative",
    "Gap",
    "Tuple",
    "TupleType",
    "ClientError",
    "Unreachable",
]
