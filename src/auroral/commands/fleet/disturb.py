"""`auroral kill`, `auroral cut`, `auroral heal`, `auroral pause` and `auroral resume`: failures of a deployment, made on purpose."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.options import add_json
from auroral.commands.terminal import FINE, say, say_json
from auroral.node.fleet.processes import Fleet


def _command(
    name: str,
    summary: str,
    example: str,
    places: tuple[str, ...],
    do: Callable[..., Any],
    said: str,
    more: Callable[[ArgumentParser], None] | None = None,
) -> Any:
    """A command in the form that modules of commands have."""

    def configure(parser: ArgumentParser) -> None:
        for place in places:
            parser.add_argument(place.lower(), metavar=place)
        if more is not None:
            more(parser)
        add_folder(parser)
        add_json(parser)

    def run(args: Namespace) -> int:
        given = [getattr(args, place.lower()) for place in places]
        fleet = fleet_of(args)
        do(fleet, *given, **({"one_way": args.one_way} if hasattr(args, "one_way") else {}))
        elsewhere = sorted(set(given).intersection(fleet.deployed.elsewhere))
        if args.json:
            say_json({"did": name, "to": given, "not_told": elsewhere}, indent=None)
            return FINE
        say(said.format(*given))
        for other in elsewhere:
            say(f"  {other} runs at {fleet.deployed.where(other)}: it was not told, and sees what the other side does")
        return FINE

    return SimpleNamespace(
        __doc__=__doc__,
        NAME=name,
        SUMMARY=summary,
        EXAMPLE=f"  {example} --folder runs/live",
        configure=configure,
        run=run,
    )


def _cut(fleet: Fleet, one: str, other: str, one_way: bool) -> None:
    fleet.cut(one, other, both=not one_way)


def _one_way(parser: ArgumentParser) -> None:
    parser.add_argument("--one-way", action="store_true", help="only what goes from A to B is lost")


kill = _command(
    "kill",
    "end a process of a deployment at once, as a crash would (SIGKILL)",
    "auroral kill na",
    ("NAME",),
    lambda fleet, name: fleet.kill(name),
    "{0} is killed; auroral up starts it again",
)
cut = _command(
    "cut",
    "let nothing pass between two processes of a deployment, as if the cable were cut",
    "auroral cut packets na",
    ("A", "B"),
    _cut,
    "{0} and {1} are cut off from each other; auroral heal joins them again",
    _one_way,
)
heal = _command(
    "heal",
    "join two processes of a deployment that were cut off from each other",
    "auroral heal packets na",
    ("A", "B"),
    lambda fleet, one, other: fleet.heal(one, other),
    "{0} and {1} reach each other",
)
pause = _command(
    "pause",
    "let a source give nothing, as if what feeds it had failed: rows are logged, and given when it is resumed",
    "auroral pause packets",
    ("SOURCE",),
    lambda fleet, source: fleet.ask(source, "pause"),
    "{0} is silent; auroral resume lets it go on",
)
resume = _command(
    "resume",
    "let a source that was paused go on",
    "auroral resume packets",
    ("SOURCE",),
    lambda fleet, source: fleet.ask(source, "resume"),
    "{0} goes on",
)
