"""JSON that is not in lines: one array of objects, or objects that are written over several lines.

Such a file has no place from which one could go on without having read all before it, so that it is read as a whole,
and only up to a size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from auroral.edge.batches import InputError
from auroral.edge.textfiles import BOM, Line

LARGEST = 64 * 2**20
_HEAD = 2**16
_BLANK = " \t\r\n"
ALLOWED = "    allowed: JSON lines: one object a line"


def in_lines(text: bytes) -> bool:
    """Whether JSON that begins with `text` is one object a line, as far as its first line tells."""
    text = text.removeprefix(BOM).lstrip()
    if text.startswith(b"["):
        return False
    first = text.split(b"\n", 1)[0].rstrip()
    # No whole line of JSON ends so, and a broken one among many hardly ever does.
    if not text.startswith(b"{") or not first.endswith((b"{", b",", b"[")):
        return True
    # A line that was cut short stands alone: a next one that begins an object anew says so.
    rest = text[len(first) :].lstrip()
    return rest.startswith(b"{")


def head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def element_lines(path: Path, batch_rows: int) -> Iterator[list[Line]]:
    """The objects as lines are given elsewhere: each with the number of the line where it begins."""
    size = path.stat().st_size
    if size > LARGEST:
        raise InputError(
            f"{path} is one JSON array of {size / 2**20:.0f} MB, or objects over several lines; such a file is read as a "
            f"whole, and this one is too large\n{ALLOWED}; other JSON up to {LARGEST / 2**20:.0f} MB\n"
            f"    next: {advice(str(path))}"
        )
    chunk: list[Line] = []
    for line in elements(path.read_bytes(), str(path)):
        chunk.append(line)
        if len(chunk) >= batch_rows:
            yield chunk
            chunk = []
    yield chunk


def advice(name: str) -> str:
    return f"jq -c '.[]' {name} > rows.jsonl, or jq -c . for objects without brackets around them"


def elements(content: bytes, path: str) -> Iterator[Line]:
    """The same of all that `path` has, whatever that is the name of."""
    try:
        text = content.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error})\n    next: save the file as UTF-8") from error
    decoder = json.JSONDecoder()
    at = _past_blanks(text, 0)
    array = text.startswith("[", at)
    at = _past_blanks(text, at + 1) if array else at
    line, counted = 1, 0
    while at < len(text) and not (array and text[at] == "]"):
        line, counted = line + text.count("\n", counted, at), at
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _broken(path, text, getattr(error, "pos", at), str(error)) from error
        yield line, text[at:end].encode("utf-8", "surrogatepass")
        at = _past_blanks(text, end)
        if array:
            at = _past_comma(path, text, at)
    if array:
        _must_end(path, text, at)


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _past_comma(path: str, text: str, at: int) -> int:
    if text.startswith(",", at):
        return _past_blanks(text, at + 1)
    if at < len(text) and text[at] != "]":
        raise _broken(path, text, at, "a comma or ] is due")
    return at


def _must_end(path: str, text: str, at: int) -> None:
    if at >= len(text):
        raise _broken(path, text, at, "the file ends within it")
    behind = _past_blanks(text, at + 1)
    if behind < len(text):
        raise _broken(path, text, behind, "something follows behind its end")


def _broken(path: str, text: str, at: int, why: str) -> InputError:
    line = text.count("\n", 0, at) + 1
    return InputError(
        f"{path} is a JSON array, or has objects over several lines, and is broken in line {line}: {why}\n"
        f"{ALLOWED}, or one whole array of objects\n    next: mend it there; or write one object a line"
    )
