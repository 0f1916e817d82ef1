"""`auroral top`: a deployment on a terminal while it runs, with keys; lines of text where there is no terminal."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import time
import tty
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper

from rich.console import Console
from rich.live import Live

from auroral.commands.fleet.common import add_folder, fleet_of
from auroral.commands.fleet.toplines import SORTS, Line, chosen, lines_of
from auroral.commands.fleet.topscreen import Screen, drawn, numbers
from auroral.commands.fleet.watch import stories
from auroral.commands.options import add_json, seconds_within
from auroral.commands.terminal import FINE, columns, say, say_json
from auroral.model.errors import AuroralError
from auroral.node.fleet.processes import Fleet
from auroral.ui.showing import Rates

NAME = "top"
SUMMARY = "watch a deployment on a terminal: states, frontiers, rates, delays against X, memory, and why"
EXAMPLE = """\
  auroral top --folder runs/live
  auroral top --folder runs/live --sort state --filter lima
  auroral top --folder runs/live --count 3 --json"""
_TICK = 0.2
_SEQUENCES = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1b[5~": "pageup",
    b"\x1b[6~": "pagedown",
    b"\x1b": "esc",
    b"\r": "enter",
    b"\n": "enter",
    b"\x7f": "backspace",
    b"\x08": "backspace",
}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--sort", choices=list(SORTS), default="process", help="by what lines are sorted (process)")
    parser.add_argument("--filter", metavar="TEXT", default="", help="only lines with this text")
    parser.add_argument(
        "--every", metavar="SECONDS", type=seconds_within(0.1, 3600), default=1.0, help="how often it is looked (1)"
    )
    parser.add_argument(
        "--count",
        metavar="N",
        type=_count,
        help="end after so many looks. Without a terminal, and with --json, it is 1 if left out",
    )
    add_folder(parser)
    add_json(parser, "print a line of JSON for each look, for machines")


def run(args: Namespace) -> int:
    watch = Watch(args)
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if args.json or not terminal:
        return _plain(args, watch)
    with _keys() as pressed, _what_can_be_shown():
        return _shown(args, watch, pressed)


class Watch:
    """Looks at the deployment that is in the folder."""

    def __init__(self, args: Namespace):
        self._args = args
        self.fleet = fleet_of(args)
        self._rates = Rates()
        self._written = self._stamps()

    def _stamps(self) -> list[int]:
        files = (self.fleet.deployed.folder / name for name in ("deployment.json", "layout.json", "versions.json"))
        return [file.stat().st_mtime_ns if file.exists() else 0 for file in files]

    def look(self) -> list[Line]:
        if (written := self._stamps()) != self._written:
            self.fleet, self._written = fleet_of(self._args), written
        return lines_of(self.fleet.deployed, self.fleet.status(), self._rates)


def _plain(args: Namespace, watch: Watch) -> int:
    # Rates are known after a second look.
    watch.look()
    for number in range(args.count or 1):
        time.sleep(args.every)
        lines = chosen(watch.look(), args.sort, args.filter)
        if args.json:
            say_json({"at": round(time.time(), 3), "lines": [line.to_json() for line in lines]}, indent=None)
        else:
            say(("\n" if number else "") + _text(lines))
    return FINE


def _text(lines: list[Line]) -> str:
    head = (
        "process",
        "stream",
        "state",
        "stable to",
        "behind",
        "tentative",
        "rows/s",
        "delay / X",
        "usual",
        "memory",
        "",
    )
    return columns([head, *((one.process, one.stream, one.state, *numbers(one), one.words) for one in lines)])


def _shown(args: Namespace, watch: Watch, pressed: Callable[[float], list[str]]) -> int:
    screen = Screen(f"auroral top: {watch.fleet.deployed.folder}", args.sort, text=args.filter)
    looking = _Looking(watch, args.every, args.count)
    console = Console()
    looking.start()
    try:
        with Live(console=console, screen=True, auto_refresh=False, transient=True) as live:
            size = None
            while not screen.over and not looking.done.is_set():
                before, keys = screen, pressed(_TICK)
                for key in keys:
                    screen = screen.pressed(key)
                screen = replace(screen, lines=looking.lines, trouble=looking.trouble)
                if screen.why != before.why:
                    looking.tell(screen.why)
                screen = replace(screen, story=looking.story if screen.why is not None else "")
                if screen != before or size != console.size:
                    size = console.size
                    live.update(drawn(screen, console), refresh=True)
    except KeyboardInterrupt:
        pass
    finally:
        looking.end()
    if looking.failure is not None:
        raise looking.failure
    return FINE


class _Looking(threading.Thread):
    """Asks the processes beside what is drawn: one that does not answer must not keep keys from working."""

    def __init__(self, watch: Watch, every: float, count: int | None):
        super().__init__(name="top", daemon=True)
        self._watch, self._every, self._left = watch, every, count
        self.lines: list[Line] = []
        self.trouble = self.story = ""
        self._why: str | None = None
        self._woken = threading.Event()
        self.done = threading.Event()
        self.failure: Exception | None = None
        """What ended it, for whoever draws to raise: nobody sees what a thread says behind the screen."""

    def tell(self, stream: str | None) -> None:
        """Whose story is wanted."""
        self._why, self.story = stream, ""
        self._woken.set()

    def end(self) -> None:
        self.done.set()
        self._woken.set()

    def run(self) -> None:
        try:
            self._look_until_done()
        except Exception as error:  # noqa: BLE001  raised by whoever draws
            self.failure = error
            self.done.set()

    def _look_until_done(self) -> None:
        due = time.monotonic()
        while not self.done.is_set():
            if time.monotonic() >= due:
                due = time.monotonic() + self._every
                self._look()
            if self._why is not None:
                self.story = _story(self._watch.fleet, self._why)
            self._woken.clear()
            self._woken.wait(max(0.05, due - time.monotonic()))

    def _look(self) -> None:
        try:
            self.lines, self.trouble = self._watch.look(), ""
        except (AuroralError, OSError) as error:
            self.trouble = str(error)
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.done.set()


def _story(fleet: Fleet, stream: str) -> str:
    try:
        return "\n".join(f"{name}: {story}" for name, story in stories(fleet, stream).items())
    except AuroralError as error:
        return str(error)


@contextmanager
def _keys() -> Iterator[Callable[[float], list[str]]]:
    """Keys as they are pressed. The terminal is as it was afterwards, however it ends."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def pressed(within: float) -> list[str]:
        ready, _, _ = select.select([terminal], [], [], within)
        if not ready:
            return []
        typed = os.read(terminal, 256)
        if not typed:
            # The terminal is gone, and would be ready for ever.
            raise KeyboardInterrupt
        return keys_of(typed)

    try:
        tty.setcbreak(terminal)
        yield pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def _what_can_be_shown() -> Iterator[None]:
    """Within, a sign that the terminal's encoding lacks is a question mark."""
    shown = sys.stdout
    assert isinstance(shown, TextIOWrapper), "it is a terminal"
    before = shown.errors
    shown.reconfigure(errors="replace")
    try:
        yield
    finally:
        shown.reconfigure(errors=before)


def keys_of(typed: bytes) -> list[str]:
    """What was typed, key by key. Sequences that are unknown are no keys."""
    found: list[str] = []
    while typed:
        known = next((name for name in sorted(_SEQUENCES, key=len, reverse=True) if typed.startswith(name)), None)
        if known == b"\x1b" and typed[1:2] in (b"[", b"O"):
            # To the letter or tilde that ends it.
            ends = [n for n, code in enumerate(typed[2:], 3) if chr(code).isalpha() or code == 0x7E]
            typed = typed[ends[0] if ends else len(typed) :]
        elif known is not None:
            found.append(_SEQUENCES[known])
            typed = typed[len(known) :]
        else:
            size = next((n for n in range(1, 5) if _is_text(typed[:n])), 1)
            found += [typed[:size].decode()] if _is_text(typed[:size]) else []
            typed = typed[size:]
    return found


def _is_text(typed: bytes) -> bool:
    try:
        return len(typed.decode()) == 1
    except UnicodeDecodeError:
        return False


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r}; allowed are whole numbers from 1 on")
    return int(text)
