"""For programs that read the outputs of a deployment, on any machine: needs neither Spark nor Java.

`connect` gives a `Client`: `subscribe` yields what happens to an output, `table` is what holds of it now.
"""

from auroral.client.connecting import Client, connect
from auroral.client.errors import ClientError, Unreachable
from auroral.client.events import Confirmed, Corrected, Event, Gap, Stable, Tentative
from auroral.client.subscription import Subscription
from auroral.dpc.tuples import Tuple, TupleType

__all__ = [
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
