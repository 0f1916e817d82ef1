"""What is wrong with bytes that came, or with what was to be sent."""

from __future__ import annotations

from auroral.model.errors import AuroralError, Place, Problem


class WireError(AuroralError):
    """Bytes that are no message of this protocol, a peer that must not be talked to, or a message that cannot be sent."""

    def __init__(self, what: str, where: str = "", allowed: str | None = None, next_step: str | None = None):
        self.problem = Problem(what, Place(element=where or None), allowed, next_step)
        super().__init__(str(self.problem))


def reason_of(error: Exception) -> str:
    """What is said of a connection that breaks by it. Also of what nobody expected: the memory that ran out, or an error of this program."""
    if isinstance(error, WireError):
        return str(error)
    return f"{type(error).__name__}: {str(error)[:200]}"


class CutOff(WireError):
    """A connection is not taken because the link was cut on purpose."""


class Overtaken(WireError):
    """A connection is not taken because there is another one between the two nodes, or one in the making: nothing is wrong."""
