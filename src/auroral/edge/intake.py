"""How the rows of an input come to a deployment: what is written behind `--input STREAM=`, and what it means.

| written as | rows come |
|---|---|
| `tcp:HOST:PORT`, `tcp+csv:HOST:PORT` | as lines of JSON or CSV over TCP |
| `http:HOST:PORT` | in the bodies of POST requests |
| `tail:FILE`, `tail+json:FILE`, `tail+csv:FILE` | from a file of lines that grows |
| `FOLDER/` | from files that appear in a folder |
| `PATH`, `PATH@SPEED` | from what was recorded: a file, or with a speed a folder of Parquet files |
| `-` | from the standard input of `auroral up`, which hands them on to `stdin:HOST:PORT` |
| `program` | from a program that has the source in it (`auroral.source`) |
| `clock` | from the clock of this machine, for an input that is one (`local_clock`): also if nothing is said |

Where HOST:PORT is left out, a free port of this machine is meant.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum

from auroral.edge.files import CSV, JSON
from auroral.edge.pacing import InputSpec, InputSpecError, parse_input_spec
from auroral.model.deployment import Endpoint, endpoint
from auroral.model.errors import nearest


class Way(StrEnum):
    TCP = "tcp"
    HTTP = "http"
    TAIL = "tail"
    FOLDER = "folder"
    RECORDED = "recorded"
    STDIN = "stdin"
    PROGRAM = "program"
    CLOCK = "clock"


class Format(StrEnum):
    JSON = "json"
    CSV = "csv"


ALLOWED = (
    "    allowed: tcp:HOST:PORT or tcp+csv:HOST:PORT for lines, http:HOST:PORT, tail:FILE or tail+csv:FILE for a file that grows, "
    "FOLDER/ for files that appear, PATH or PATH@SPEED for what was recorded, - for standard input, program for one that calls auroral.source"
)
_PREFIX = re.compile(r"([a-z]+)(?:\+([a-z]+))?:(.*)", re.DOTALL)
_WITH_PORT = re.compile(r".*:[0-9]+")
_FORMATS = {Way.TCP: (Format.JSON, Format.CSV), Way.HTTP: (), Way.TAIL: (Format.JSON, Format.CSV), Way.STDIN: ()}


@dataclass(frozen=True, slots=True)
class Intake:
    """`where` is an address or an absolute path; `format` is that of lines. An address that is empty is not chosen yet."""

    way: Way
    where: str
    format: Format | None = None
    speed: float | None = None

    @property
    def listens(self) -> bool:
        return self.way in (Way.TCP, Way.HTTP, Way.STDIN)

    @property
    def live(self) -> bool:
        """Whether rows come as they arise, so that the clock says something of their times."""
        return self.way not in (Way.RECORDED, Way.CLOCK)

    @property
    def endpoint(self) -> Endpoint:
        return endpoint(self.where)

    def spec(self, stream: str) -> InputSpec:
        """For who reads what was recorded."""
        return InputSpec(stream, self.where, self.speed)

    @property
    def words(self) -> str:
        """What it takes, and where, for people."""
        match self.way:
            case Way.TCP:
                return f"lines of {'CSV' if self.format is Format.CSV else 'JSON'} at {self.where}"
            case Way.HTTP:
                return f"rows by POST at http://{self.where}/"
            case Way.TAIL:
                return f"lines as they are written to {self.where}"
            case Way.FOLDER:
                return f"files that appear in {self.where}"
            case Way.RECORDED:
                return f"what was recorded in {self.where}"
            case Way.CLOCK:
                return "the clock of this machine"
            case Way.PROGRAM:
                return "what a program gives that calls auroral.source"
            case Way.STDIN:
                return f"standard input of `auroral up`, by way of {self.where}"

    def __str__(self) -> str:
        match self.way:
            case Way.TCP:
                return f"{'tcp+csv' if self.format is Format.CSV else 'tcp'}:{self.where}"
            case Way.HTTP:
                return f"http:{self.where}"
            case Way.TAIL:
                return f"tail+{self.format}:{self.where}"
            case Way.FOLDER:
                return self.where
            case Way.RECORDED:
                return self.where if self.speed is None else f"{self.where}@{self.speed!r}x"
            case Way.PROGRAM | Way.CLOCK:
                return str(self.way)
            case Way.STDIN:
                return f"stdin:{self.where}"


def parse_intake(stream: str, text: str) -> Intake:
    """What `text` means for this input; a path is taken from the working folder."""
    if text in (Way.PROGRAM, Way.CLOCK):
        return Intake(Way(text), "")
    found = _PREFIX.fullmatch(text)
    if found is None or os.path.exists(text):
        return _files(stream, text)
    way, form, where = found[1], found[2], found[3]
    if way not in _FORMATS:
        guess = nearest(way, [*_FORMATS])
        raise InputSpecError(
            f"input {stream!r}: {text!r} is neither a way for rows to come in nor a file that is there\n{ALLOWED}\n"
            f"    next: {f'did you mean {guess}:{where}?' if guess else 'check --input'}"
        )
    known = Way(way)
    if form is not None and form not in _FORMATS[known]:
        forms = ", ".join(f"{way}+{known_form}:" for known_form in _FORMATS[known]) or f"{way}:"
        raise InputSpecError(
            f"input {stream!r}: {way} has no format {form!r}\n    allowed: {forms}\n"
            + ("    next: say it in the Content-Type of each request" if known is Way.HTTP else "    next: choose one")
        )
    if known is Way.TAIL:
        return Intake(known, _path(stream, where), _format(stream, form, where))
    return Intake(known, _address(stream, text, where), Format(form or Format.JSON) if known is Way.TCP else None)


def _files(stream: str, text: str) -> Intake:
    spec = parse_input_spec(f"{stream}={text}")
    if spec.path == "-":
        if spec.speed is not None:
            raise InputSpecError(
                f"input {stream!r}: standard input has no speed of its own: rows are taken as they come\n{ALLOWED}\n"
                "    next: write - alone"
            )
        return Intake(Way.STDIN, "")
    if spec.speed is None and (spec.path.endswith("/") or os.path.isdir(spec.path)):
        return Intake(Way.FOLDER, os.path.join(os.path.abspath(spec.path), ""))
    return Intake(Way.RECORDED, os.path.abspath(spec.path), speed=spec.speed)


def _address(stream: str, text: str, where: str) -> str:
    if not where:
        return where
    try:
        if not _WITH_PORT.fullmatch(where):
            raise ValueError("no port")
        return str(endpoint(where))
    except ValueError as error:
        raise InputSpecError(
            f"input {stream!r}: {text!r} has no address with a port ({error})\n"
            "    allowed: HOST:PORT, or :PORT for this machine, with a port of 1 to 65535; or nothing, for a free port\n"
            "    next: for example tcp:127.0.0.1:9000"
        ) from error


def _path(stream: str, where: str) -> str:
    if not where or where.endswith("/"):
        raise InputSpecError(
            f"input {stream!r}: tail follows one file, and {where!r} is none\n    allowed: tail:FILE\n"
            "    next: name the file; it need not be there yet"
        )
    return os.path.abspath(where)


def _format(stream: str, form: str | None, where: str) -> Format:
    ending = os.path.splitext(where)[1].lower()
    if form is not None:
        return Format(form)
    if ending in CSV:
        return Format.CSV
    if ending in JSON:
        return Format.JSON
    raise InputSpecError(
        f"input {stream!r}: whether {where} has JSON or CSV is not to be seen from its name\n"
        f"    allowed: names that end with {', '.join((*CSV, *JSON))}; others with the format\n"
        f"    next: tail+json:{where} or tail+csv:{where}"
    )
