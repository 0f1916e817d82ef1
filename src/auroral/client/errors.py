"""What a reader of outputs can run into."""

from __future__ import annotations

from auroral.model.errors import AuroralError


class ClientError(AuroralError):
    """What was asked cannot be answered, however often it is asked."""


class Unreachable(ClientError):
    """Nobody answered for as long as was waited. What was told before stays right: go on from `Subscription.position`."""
