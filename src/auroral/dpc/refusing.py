"""What others say is judged before it is taken: a stream or a bucket that cannot be must not stop a core."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from auroral.dpc.events import Report
from auroral.dpc.port import Port
from auroral.dpc.values import (
    Confirm,
    Gap,
    GiveState,
    Message,
    Ping,
    Pong,
    Rewire,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
    WantState,
)

FARTHEST = 1_000_000
"""Buckets ahead of what is stable: nothing that is further off is believed."""


def refusals(
    sender: str, message: Message, outputs: Collection[str], inputs: Mapping[str, Port], coming: Collection[str] = ()
) -> Iterator[Report]:
    """Of a message that is not to be taken. `coming`: inputs that may be read later.

    Of a heartbeat only the streams that are not known are left out: one wrong name must not make a node seem dead.
    """
    match message:
        case Subscribe() | Unsubscribe() | Want():
            if message.stream not in outputs:
                yield _refused(sender, message.stream, "it is not given here")
            elif not isinstance(message, Unsubscribe) and message.position is not None and message.position < 0:
                yield _refused(sender, message.stream, f"there is no bucket {message.position}")
        case WantState(stream) | GiveState(stream):
            if stream not in outputs:
                yield _refused(sender, stream, "it is not given here")
        case Rewire(_, wiring):
            known = {*inputs, *coming}
            for stream in sorted((wiring.inputs.keys() - known) | (wiring.readers.keys() - set(outputs))):
                yield _refused(sender, stream, "it is not known here")
        case Stable(held=held, contents=contents) if held and len(held) != len(contents):
            yield _refused(sender, message.stream, f"{len(contents)} buckets have {len(held)} ages")
        case Stable() | Confirm() | Tentative() | Gap():
            bucket = message.bucket if isinstance(message, Tentative) else message.begin
            if message.stream not in inputs:
                yield _refused(sender, message.stream, "it is not read here")
            elif isinstance(message, Gap) and not message.begin <= message.end <= message.begin + FARTHEST:
                yield _refused(sender, message.stream, f"there is no gap from {message.begin} to {message.end}")
            elif bucket < 0 or _too_far(inputs[message.stream], bucket):
                yield _refused(sender, message.stream, f"there is no bucket {bucket}")
        case _:
            pass


def _too_far(port: Port, bucket: int) -> bool:
    return not port.resuming and bucket > port.frontier + FARTHEST


def strangers(sender: str, message: Ping | Pong, known: Iterable[str]) -> list[Report]:
    """Streams of a heartbeat that are left out."""
    named = {*message.acks, *message.numbers} if isinstance(message, Ping) else {*message.unknown}
    unknown = named.difference(known)
    return [_refused(sender, stream, "it is not known here") for stream in sorted(unknown)] if unknown else []


def _refused(sender: str, stream: str, why: str) -> Report:
    return Report("refused", stream, detail=f"{sender} speaks of {stream}: {why}")
