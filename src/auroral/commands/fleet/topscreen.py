"""The screen of `auroral top`: what keys do to it, and how it is drawn. No terminal is touched here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from auroral.commands.fleet.toplines import SORTS, Line, chosen
from auroral.ui.conditions import Condition

_COLOURS = {
    Condition.STABLE: "green",
    Condition.TENTATIVE: "yellow",
    Condition.STABILISING: "cyan",
    Condition.BLOCKED: "magenta",
    Condition.SILENT: "bright_black",
    Condition.FAILED: "bold red",
    Condition.UNKNOWN: "bright_black",
}
_SIGNS = dict(zip(Condition, "●▲↻■‖✗?", strict=True))
_PLAIN_SIGNS = dict(zip(Condition, "o!~#-x?", strict=True))
"""So that colour is never all that tells conditions apart."""
_CONTROL = dict.fromkeys((*range(32), 127, *range(128, 160)), "�")
"""What a terminal would take for a command; errors of others may have it."""
_AROUND = 8
"""Rows of the screen that are neither lines nor below them: title, summary, head, foot, and the space between."""
_FEWEST = 3
HELP = "q quit  up/down select  enter why  s sort  r reverse  / filter  ? help"
KEYS = """\
up, down, k, j       select a line          page up, page down   ten lines at once
enter                why of its stream      esc                  close it, or clear the filter
s, S                 next, previous sort    r                    the other way round
/ TEXT enter         only lines with TEXT   q, Ctrl-C            end; the deployment goes on"""


@dataclass(frozen=True, slots=True)
class Screen:
    """What is seen, but for the lines themselves."""

    title: str
    sort: str = "process"
    reverse: bool = False
    text: str = ""
    """Of the filter."""
    typing: bool = False
    """Whether keys go into the filter."""
    at: int = 0
    """Of the lines that are chosen, the one that is selected."""
    why: str | None = None
    """The stream whose story is shown."""
    story: str = ""
    help: bool = False
    over: bool = False
    trouble: str = ""
    """What keeps the lines from being new."""
    lines: Sequence[Line] = field(default=())

    @property
    def chosen(self) -> list[Line]:
        return chosen(self.lines, self.sort, self.text, self.reverse)

    @property
    def selected(self) -> Line | None:
        found = self.chosen
        return found[min(self.at, len(found) - 1)] if found else None

    def pressed(self, key: str) -> Screen:
        return self._typed(key) if self.typing else self._commanded(key)

    def _typed(self, key: str) -> Screen:
        match key:
            case "enter":
                return replace(self, typing=False)
            case "esc":
                return replace(self, typing=False, text="", at=0)
            case "backspace":
                return replace(self, text=self.text[:-1], at=0)
            case _ if len(key) == 1 and key.isprintable():
                return replace(self, text=(self.text + key)[:60], at=0)
        return self

    def _commanded(self, key: str) -> Screen:
        match key:
            case "q":
                return replace(self, over=True)
            case "down" | "j":
                return self._moved(1)
            case "up" | "k":
                return self._moved(-1)
            case "pagedown":
                return self._moved(10)
            case "pageup":
                return self._moved(-10)
            case "s" | "S":
                sorts = list(SORTS)
                return replace(self, sort=sorts[(sorts.index(self.sort) + (1 if key == "s" else -1)) % len(sorts)])
            case "r":
                return replace(self, reverse=not self.reverse)
            case "/":
                return replace(self, typing=True)
            case "?":
                return replace(self, help=not self.help)
            case "enter" if self.selected is not None:
                stream = self.selected.stream.partition(" to ")[0]
                closing = not stream or self.why == stream
                return replace(self, why=None if closing else stream, story="")
            case "esc":
                if self.why is not None or self.help:
                    return replace(self, why=None, story="", help=False)
                return replace(self, text="", at=0)
        return self

    def _moved(self, by: int) -> Screen:
        return replace(self, at=max(0, min(len(self.chosen) - 1, min(self.at, len(self.chosen) - 1) + by)))


def drawn(screen: Screen, console: Console) -> RenderableType:
    """As much as there is room for."""
    width, height = console.size
    below = _below(screen)[: max(0, height - _AROUND - _FEWEST)]
    room = max(_FEWEST, height - _AROUND - len(below))
    shown, at = screen.chosen, screen.at
    at = max(0, min(at, len(shown) - 1))
    begin = max(0, min(at - room // 2, len(shown) - room))
    parts: list[RenderableType] = [
        Text(_clean(screen.title)[:width], style="bold"),
        _summary(screen),
        table(shown[begin : begin + room], width, at - begin, console.encoding.startswith("utf")),
    ]
    if len(shown) > room:
        parts.append(Text(f"lines {begin + 1} to {min(begin + room, len(shown))} of {len(shown)}", style="dim"))
    parts += [Text(line, no_wrap=True, overflow="ellipsis") for line in below]
    parts.append(_foot(screen))
    return Group(*parts)


def _summary(screen: Screen) -> Text:
    if screen.trouble:
        return Text(_clean(screen.trouble.splitlines()[0]), style="bold red", no_wrap=True, overflow="ellipsis")
    if not screen.lines:
        return Text("looking ...", style="dim")
    down = sorted({line.process for line in screen.lines if line.state in ("DOWN", "not there")})
    here = " here" if any(line.state == "elsewhere" for line in screen.lines) else ""
    tentative = sum(line.tentative for line in screen.lines if line.kind == "client")
    over = [line.stream for line in screen.lines if line.over]
    said = [f"down: {', '.join(down)}" if down else f"all processes{here} run"]
    said.append(f"{tentative} tentative buckets" if tentative else "nothing tentative")
    if over:
        said.append(f"X was broken: {', '.join(over)}")
    style = "bold red" if down or over else "yellow" if tentative else "green"
    return Text(_clean("; ".join(said)), style=style, no_wrap=True, overflow="ellipsis")


def _below(screen: Screen) -> list[str]:
    if screen.help:
        return ["", *KEYS.splitlines()]
    if screen.why is None:
        return []
    story = screen.story or "asking ..."
    return ["", f"why {_clean(screen.why)}:", *(_clean(line) for line in story.splitlines()[:14])]


def _foot(screen: Screen) -> Text:
    if screen.typing:
        return Text(f"/{screen.text}_", style="reverse")
    order = f"sorted by {screen.sort}{', reversed' if screen.reverse else ''}"
    only = f"  only: {screen.text}" if screen.text else ""
    return Text(f"{HELP}   {order}{only}", style="dim", no_wrap=True, overflow="ellipsis")


def table(lines: Sequence[Line], width: int, at: int = -1, utf: bool = True) -> Table:
    """Columns that matter less go first where the screen is narrow."""
    shown = Table(box=box.SIMPLE_HEAD if utf else box.ASCII2, pad_edge=False, padding=(0, 1, 0, 0), expand=width >= 80)
    heads = {
        "process": 0,
        "stream": 0,
        "state": 0,
        "stable to": 74,
        "behind": 0,
        "tentative": 0,
        "rows/s": 56,
        "delay / X": 64,
        "usual": 96,
        "memory": 84,
        "": 110,
    }
    kept = [(n, name) for n, (name, wide) in enumerate(heads.items()) if width >= wide]
    for n, name in kept:
        numeric = name in ("stable to", "behind", "tentative", "rows/s", "delay / X", "usual", "memory")
        shown.add_column(
            name,
            justify="right" if numeric else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if n == 10 else None,
        )
    signs, before = _SIGNS if utf else _PLAIN_SIGNS, None
    for number, line in enumerate(lines):
        state = Text(f"{signs[line.condition]} {_clean(line.state)}", style=_COLOURS[line.condition])
        process = "" if line.process == before and number != at else line.process
        before = line.process
        cells = [Text(_clean(process)), Text(_clean(line.stream)), state, *(Text(cell) for cell in numbers(line))]
        if line.over:
            cells[7].stylize("bold red")
        cells.append(Text(_clean(line.words), style="dim"))
        shown.add_row(*(cells[n] for n, _ in kept), style="reverse" if number == at else None)
    return shown


def numbers(line: Line) -> list[str]:
    delay = "" if line.delay is None else f"{line.delay:.2f} / {'-' if line.bound is None else f'{line.bound:g}'} s"
    return [
        "" if line.frontier is None else str(line.frontier),
        "" if line.behind is None else f"{line.behind:.1f} s",
        str(line.tentative or ""),
        "" if line.rate is None else f"{line.rate:,.0f}",
        delay,
        "" if line.latency is None else f"{line.latency:.2f} s",
        "" if line.memory is None else f"{line.memory / 2**20:.0f} MB",
    ]


def _clean(text: str) -> str:
    return text.translate(_CONTROL)
