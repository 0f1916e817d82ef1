"""Options that several commands take, and their values: inputs, outputs, stimes, lengths of time."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import TypeVar

from auroral.commands.terminal import WrongUse
from auroral.dpc.settings import Choices, Policy
from auroral.edge.pacing import InputSpec, InputSpecError, parse_input_spec
from auroral.loading import StimeChoice, StimeError, stime_choice
from auroral.model.diagram import Late
from auroral.model.duration import microseconds

T = TypeVar("T")


def parse_stime(text: str) -> StimeChoice:
    """`STREAM=FIELD[:UNIT]`."""
    stream, equals, said = text.partition("=")
    if not equals or not stream.strip() or not said.strip():
        raise ArgumentTypeError(
            f"{text!r} does not say which field carries a stream's stime; "
            "write STREAM=FIELD or STREAM=FIELD:UNIT, for example packets=ts:ms"
        )
    try:
        return stime_choice(stream.strip(), said)
    except StimeError as error:
        raise ArgumentTypeError(str(error)) from error


def parse_output(text: str) -> tuple[str, str]:
    return _pair(text, "where a stream's rows go", "alerts=alerts.jsonl, or alerts=- for standard output")


def parse_late(text: str) -> tuple[str, Late]:
    stream, policy = _pair(text, "what to do with a stream's late rows", "packets=reject")
    if policy not in list(Late):
        raise ArgumentTypeError(f"{text!r}: unknown policy {policy!r}; allowed are {', '.join(Late)}")
    return stream, Late(policy)


def parse_delay(text: str) -> tuple[str, int]:
    stream, length = _pair(text, "how far out of order a stream's rows may be", "packets=2s")
    return stream, parse_length(length)


def parse_idle_after(text: str) -> tuple[str, int]:
    stream, length = _pair(text, "after how long a silent stream follows the clock", "packets=10s")
    return stream, parse_length(length)


def parse_length(text: str) -> int:
    """A length of time, in microseconds."""
    try:
        return microseconds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def parse_input(text: str) -> InputSpec:
    try:
        return parse_input_spec(text)
    except InputSpecError as error:
        raise ArgumentTypeError(str(error)) from error


def _pair(text: str, what: str, example: str) -> tuple[str, str]:
    stream, equals, value = text.partition("=")
    if not equals or not stream.strip() or not value.strip():
        raise ArgumentTypeError(f"{text!r} does not say {what}; write for example {example}")
    return stream.strip(), value.strip()


def by_stream(option: str, pairs: Sequence[tuple[str, T]]) -> dict[str, T]:
    """Pairs as a dict; a stream that is there twice is a mistake."""
    found: dict[str, T] = {}
    for stream, value in pairs:
        if stream in found:
            raise WrongUse(f"{option} is given twice for {stream!r}\n    next: leave one out")
        found[stream] = value
    return found


def seconds_within(lowest: float, highest: float) -> Callable[[str], float]:
    """Reads a number of seconds."""

    def read(text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not lowest <= seconds <= highest:
            raise ArgumentTypeError(f"{text!r}; allowed are {lowest:g} to {highest:g} seconds")
        return seconds

    return read


def add_stime(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--stime",
        metavar="STREAM=FIELD[:UNIT]",
        action="append",
        default=[],
        type=parse_stime,
        help="the field that an input's stime is in; UNIT (s, ms or us) is what an integer field counts, "
        "seconds if left out. Without it the diagram says, or else the fields that its windows are on",
    )


def add_functions(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--functions",
        metavar="FILE.py",
        action="append",
        default=[],
        help="a Python file that registers functions or aggregates which the diagram calls (auroral.register_function, "
        "auroral.aggregate_function); it is executed. May be repeated",
    )


def add_diagram(parser: ArgumentParser) -> None:
    parser.add_argument("--diagram", metavar="NAME", help="which diagram, where a Python file defines several")


def add_json(parser: ArgumentParser, what: str = "print JSON, for machines") -> None:
    parser.add_argument("--json", action="store_true", help=what)


def add_streams(parser: ArgumentParser) -> None:
    """What a run reads and writes, and how sources treat it."""
    add_input(
        parser,
        "STREAM=PATH[@SPEED]",
        "rows of an input: *.csv, *.jsonl, *.parquet, a folder of Parquet files, or - for standard input. "
        "SPEED replays them at a multiple of their own pace (1x, 10x); without it, as fast as possible",
    )
    _repeated(
        parser,
        "--output",
        "STREAM=PATH",
        parse_output,
        "where an output goes: *.csv, *.jsonl, *.parquet (a folder), or - for standard output",
    )
    add_stime(parser)
    add_functions(parser)
    add_bucket(parser)
    _repeated(
        parser,
        "--late",
        "STREAM=POLICY",
        parse_late,
        "what happens to a row whose bucket is closed: move, reject or drop",
    )
    _repeated(
        parser,
        "--delay",
        "STREAM=LENGTH",
        parse_delay,
        "how far out of order rows of an input may come, as 2s",
    )
    parser.add_argument(
        "--flush", action="store_true", help="at the end of all input, close the windows that are still open"
    )
    add_master(parser)
    add_diagram(parser)


def add_bucket(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--bucket",
        metavar="LENGTH",
        type=parse_length,
        help="the bucket interval, as 500ms; the diagram's own if left out",
    )


def add_input(parser: ArgumentParser, metavar: str, help_text: str) -> None:
    _repeated(parser, "--input", metavar, parse_input, help_text)


def add_idle_after(parser: ArgumentParser) -> None:
    _repeated(
        parser,
        "--idle-after",
        "STREAM=LENGTH",
        parse_idle_after,
        "an input that is stamped by a field and silent for that long follows the clock, as 10s; without it, the run "
        "waits for the input",
    )


def add_master(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--master",
        metavar="URL",
        help="which Spark: local[N], spark://host:port or sc://host:port (Spark Connect); local[2] if left out",
    )


def _repeated(parser: ArgumentParser, option: str, metavar: str, read: Callable[[str], object], help_text: str) -> None:
    parser.add_argument(
        option, metavar=metavar, action="append", default=[], type=read, help=help_text + "; may be repeated"
    )


def add_choices(parser: ArgumentParser) -> None:
    """What is done where something fails, besides the bound."""
    parser.add_argument(
        "--keep",
        metavar="TIME",
        type=parse_length,
        help="how much of a stream is kept at most for those that are behind or away; when that is full, sources take no rows until there is "
        "room, and new answers stop; left out, as much as is needed",
    )
    for option, when in (("--while-failing", "fails"), ("--while-correcting", "is corrected")):
        parser.add_argument(
            option,
            metavar="POLICY",
            type=_policy,
            help=f"what is done with new rows while an input {when}: {', '.join(Policy)}; left out, {Policy.PROCESS}",
        )


def chosen(args: Namespace) -> Choices:
    return Choices(
        args.while_failing or Policy.PROCESS,
        args.while_correcting or Policy.PROCESS,
        None if args.keep is None else args.keep / 1e6,
    )


def _policy(text: str) -> Policy:
    if text not in list(Policy):
        raise ArgumentTypeError(f"unknown policy {text!r}; allowed are {', '.join(Policy)}")
    return Policy(text)
