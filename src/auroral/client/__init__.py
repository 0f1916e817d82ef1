"""For programs outside of a deployment, which need neither Spark nor Java: `Sender` brings rows to an input."""

from auroral.client.sender import AnotherSender, NoSource, RowsRefused, Sender, SenderError

__all__ = ["AnotherSender", "NoSource", "RowsRefused", "Sender", "SenderError"]
