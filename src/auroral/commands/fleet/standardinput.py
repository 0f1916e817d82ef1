"""The standard input of `auroral up`, handed on to the source that takes it: that one may be killed and come back, and none is lost."""

from __future__ import annotations

import sys
import time

from auroral.client.linesender import LineSender, Records
from auroral.commands.terminal import FINE, WrongUse, say
from auroral.edge.intake import Way, parse_intake
from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.processes import Fleet

_AGAIN = 0.5


def reading(deployed: Deployed) -> str | None:
    """The input that takes standard input, if there is one."""
    agreed = deployed.agreed.inputs
    return next((one for one in agreed if parse_intake(one, agreed[one]).way is Way.STDIN), None)


def must_be_a_pipe() -> None:
    if sys.stdin.isatty():
        raise WrongUse(
            "standard input is a terminal\n    allowed: a pipe or a file, as in `... | auroral up --input STREAM=-`\n"
            "    next: send rows through a pipe; or leave --input out, and send them over TCP"
        )


def hand_on(fleet: Fleet, stream: str) -> int:
    """All rows, until standard input ends: then the input has ended. Stopped before that, it has not, and more may come later."""
    where = parse_intake(stream, fleet.deployed.agreed.inputs[stream]).where
    records = Records(sys.stdin.fileno())
    sender: LineSender | None = None
    try:
        for some in records:
            if sender is None:
                sender = LineSender(where, records.header)
            sender.send_lines(some)
        _end(fleet, stream)
    except KeyboardInterrupt:
        say(f"{stream} is handed nothing more; auroral up --folder DIR --input {stream}=- goes on with it", sys.stderr)
        return FINE
    finally:
        if sender is not None:
            sender.close()
    left_out = {} if sender is None else sender.left_out
    counts = ", ".join(f"{count} {reason}" for reason, count in left_out.items()) or "none"
    say(f"{stream} has ended: {0 if sender is None else sender.position} rows, left out: {counts}", sys.stderr)
    return FINE


def _end(fleet: Fleet, stream: str) -> None:
    """Once it can be told: it may just be away."""
    while True:
        try:
            fleet.ask(stream, "end")
            return
        except NoAnswer:
            time.sleep(_AGAIN)
