"""`auroral top`: what its lines say, what keys do, and all of it on a pseudo-terminal, against stand-ins for the processes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from auroral.cli import main, make_parser
from auroral.commands.fleet import top
from auroral.commands.fleet.top import keys_of
from auroral.commands.fleet.toplines import SORTS, Line, chosen, lines_of
from auroral.commands.fleet.topscreen import Screen, drawn
from auroral.node.fleet.processes import Fleet
from auroral.ui.conditions import Condition
from auroral.ui.showing import Rates
from ui.standins import StandIns, all_is_well, lima_is_lost, standing_in


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIns]:
    """The demonstration, of which lima is cut off and one node is down."""
    with standing_in(tmp_path_factory.mktemp("top") / "live") as found:
        all_is_well(found)
        lima_is_lost(found)
        found.says["oslo"] = {**(found.says["oslo"] or {}), "ledger": {"late": 7}}
        found.down("watchb")
        yield found


def lines(found: StandIns) -> list[Line]:
    deployed = found.deployed
    return lines_of(deployed, Fleet(deployed).status(), Rates())


def test_a_line_for_each_stream_of_each_process_as_data_flows(lost: StandIns) -> None:
    shown = lines(lost)
    assert [(one.process, one.stream, one.state) for one in shown] == [
        *(("oslo", "oslo", "open"), ("bern", "bern", "open"), ("lima", "lima", "open")),
        *(("mergea", "connections", "UP_FAILURE"), ("mergeb", "connections", "UP_FAILURE")),
        *(("watcha", "alerts", "UP_FAILURE"), ("watchb", "", "DOWN"), ("client", "alerts", "tentative")),
        *(("spark", "", "up"), ("catalog", "", "up")),
    ]
    by_name = {one.process: one for one in shown}
    assert by_name["oslo"].words == "left out: 7 late" and by_name["mergea"].words == "does not get lima"
    client = by_name["client"]
    assert (client.frontier, client.tentative, client.delay, client.bound, client.latency) == (58, 9, 3.9, 5.0, 0.35)
    assert client.behind is not None and 0 < client.behind < 60 and not client.over
    assert by_name["watcha"].memory == 200 << 20


@pytest.mark.parametrize(
    ("origin", "how", "told"),
    [
        (None, "tcp:127.0.0.1:9", True),
        (5, "/not/there.csv@1x", True),
        (5, "/not/there.csv@10x", False),
        (5, "/not/there.csv", False),
    ],
)
def test_delays_are_told_where_times_pass_as_the_clock_does(
    lost: StandIns, origin: int | None, how: str, told: bool
) -> None:
    deployed = lost.deployed
    agreed = replace(deployed.agreed, origin=origin, inputs=dict.fromkeys(deployed.agreed.inputs, how))
    other = replace(deployed, agreed=agreed)
    assert other.in_time is told
    client = next(one for one in lines_of(other, Fleet(deployed).status(), Rates()) if one.process == "client")
    assert (client.delay is not None) is told and (client.latency is not None) is (origin is None)


def test_sorted_and_filtered(lost: StandIns) -> None:
    shown = lines(lost)
    assert [one.process for one in chosen(shown, "state")][:2] == ["watchb", "mergea"]
    assert [one.process for one in chosen(shown, text="LIMA")] == ["lima", "mergea", "mergeb"]
    assert chosen(shown, reverse=True) == shown[::-1]
    for sort in SORTS:
        assert sorted(map(repr, chosen(shown, sort))) == sorted(map(repr, shown))


def pressed(screen: Screen, *keys: str) -> Screen:
    for key in keys:
        screen = screen.pressed(key)
    return screen


def test_keys(lost: StandIns) -> None:
    screen = Screen("t", lines=lines(lost))
    assert (
        pressed(screen, "up").at == 0
        and pressed(screen, *["down"] * 99).at == 9
        and pressed(screen, "pagedown").at == 9
    )
    assert [pressed(screen, *["s"] * n).sort for n in (1, len(SORTS))] == ["state", "process"]
    assert pressed(screen, "S").sort == "memory" and pressed(screen, "r").reverse
    typed = pressed(screen, "/", "q", "x", "backspace", "enter")
    assert typed.text == "q" and not typed.typing and not typed.over and typed.selected is None
    assert pressed(typed, "esc").text == "" and pressed(typed, "enter", "down", "up").at == 0
    why = pressed(screen, "j", "j", "j", "enter")
    assert why.why == "connections" and pressed(why, "enter").why is None and pressed(why, "esc").why is None
    assert pressed(screen, *["down"] * 8, "enter").why is None, "it has no stream"
    assert pressed(screen, "q").over and pressed(screen, "?").help and pressed(screen, "F5") == screen


def test_what_is_typed_key_by_key() -> None:
    assert keys_of(b"q\x1b[A\x1b[Bj\x1b[6~\r\x7f") == ["q", "up", "down", "j", "pagedown", "enter", "backspace"]
    assert keys_of(b"\x1b") == ["esc"] and keys_of("ü/".encode()) == ["ü", "/"]
    assert keys_of(b"\x1b[15~\x1b[1;5Cx\xff") == ["x"]


def on(width: int, height: int, screen: Screen) -> str:
    console = Console(file=StringIO(), width=width, height=height, force_terminal=False, _environ={})
    with console.capture() as shown:
        console.print(drawn(screen, console))
    return shown.get()


@pytest.mark.parametrize(("width", "height"), [(140, 40), (80, 24), (40, 12)])
def test_it_fits_into_the_terminal(lost: StandIns, width: int, height: int) -> None:
    many = [replace(one, process=f"{one.process}{n}") for n in range(20) for one in lines(lost)]
    screen = replace(pressed(Screen("t", lines=many), *["pagedown"] * 9), why="alerts", story="a\nb\nc")
    text = on(width, height, screen).splitlines()
    assert len(text) <= height and max(map(len, text)) <= width
    assert ("delay / X" in "".join(text)) == (width >= 64) and any("of 200" in line for line in text)


def test_no_text_of_others_reaches_the_terminal_as_a_command() -> None:
    evil = "\x1b]0;owned\x07\x9b31m"
    line = Line(evil, "node", evil, evil, Condition.FAILED, words=evil)
    screen = Screen(evil, why=evil, story=evil, lines=[line], trouble=evil, text="")
    assert not set(on(160, 30, screen)) & {"\x1b", "\x07", "\x9b"}


def test_what_is_over_the_bound_is_said() -> None:
    line = Line("client", "client", "alerts", delay=5.2, bound=5.0)
    assert "X was broken: alerts" in on(100, 20, Screen("t", lines=[line]))


def test_nothing_is_said_of_what_is_not_known() -> None:
    one = Line("oslo", "source")
    assert "looking ..." in on(100, 20, Screen("t")) and "all processes run" in on(100, 20, Screen("t", lines=[one]))
    lines = [one, replace(one, process="bern", state="elsewhere")]
    assert "all processes here run" in on(100, 20, Screen("t", lines=lines))
    assert "down: bern" in on(100, 20, Screen("t", lines=[one, replace(one, process="bern", state="not there")]))


# As a program


def test_without_a_terminal_it_is_text_or_json(lost: StandIns, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(lost.deployed.folder)
    assert main(["top", "--folder", folder, "--every", "0.3", "--sort", "state"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0].split()[:3] == ["process", "stream", "state"] and text[1].split()[:2] == ["watchb", "DOWN"]
    assert main(["top", "--folder", folder, "--every", "0.1", "--count", "2", "--json", "--filter", "client"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[one["stream"] for one in look["lines"]] for look in found] == [["alerts"]] * 2
    assert main(["top", "--folder", folder, "--every", "0"]) == 2
    assert main(["top", "--folder", f"{folder}-not"]) == 1


class Terminal:
    """A program on a pseudo-terminal of its own."""

    def __init__(self, *arguments: str, **environ: str):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.said = ""
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "", "LINES": "", **environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "auroral.cli", *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env={name: value for name, value in environment.items() if value},
        )

    def type(self, text: str) -> None:
        self.said = ""
        os.write(self.master, text.encode())

    def sees(self, *texts: str, within: float = 20.0) -> None:
        until = time.monotonic() + within
        while not all(text in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.said) for text in texts):
            assert time.monotonic() < until, f"{texts} did not come:\n{self.said[-3000:]}"
            if select.select([self.master], [], [], 0.2)[0]:
                self.said += os.read(self.master, 1 << 16).decode(errors="replace")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.mark.slow
def test_on_a_terminal(lost: StandIns) -> None:
    shown = Terminal("top", "--folder", str(lost.deployed.folder), "--every", "0.3")
    try:
        shown.sees("down: watchb", "▲ UP_FAILURE", "3.90 / 5 s", "sorted by process")
        shown.type("?")
        shown.sees("select a line")
        shown.type("?/client\r")
        shown.sees("only: client")
        shown.type("\r")
        shown.sees("why alerts:", "alerts misses bucket 58, nothing came since")
        shown.type("\x1b")
        time.sleep(0.5)
        shown.type("\x1bs")
        shown.sees("sorted by state", "down: watchb")
        lost.down("bern")
        shown.sees("down: bern, watchb")
        shown.type("q")
        assert shown.process.wait(20) == 0
        shown.sees("")
        assert termios.tcgetattr(shown.slave) == shown.before
    finally:
        shown.close()


@pytest.mark.slow
def test_a_terminal_without_unicode_and_ctrl_c(lost: StandIns) -> None:
    folder = str(lost.deployed.folder)
    shown = Terminal("top", "--folder", folder, "--every", "0.3", "--filter", "\u00fc", PYTHONIOENCODING="ascii")
    try:
        shown.sees("watchb; 9 tentative buckets", "only: ?")
        shown.type("\x1b")
        shown.sees("! UP_FAILURE")
        shown.process.send_signal(signal.SIGINT)
        assert shown.process.wait(20) == 0
        shown.sees("")
        assert termios.tcgetattr(shown.slave) == shown.before
    finally:
        shown.close()


def test_what_cannot_be_looked_at_ends_it_and_is_told(monkeypatch: pytest.MonkeyPatch, lost: StandIns) -> None:
    args = make_parser().parse_args(["top", "--folder", str(lost.deployed.folder)])
    watch, ticks = top.Watch(args), iter([[]] * 100)
    monkeypatch.setattr(top, "lines_of", lambda *_: {}["rows"])
    with pytest.raises(KeyError, match="rows"):
        top._shown(args, watch, lambda within: time.sleep(0.05) or next(ticks, ["q"]))
