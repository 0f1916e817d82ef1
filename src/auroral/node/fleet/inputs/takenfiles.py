"""Which files an input has taken: lines of JSON beside its log.

A file is noted durably before the first of its rows is logged, with how many rows of the input were logged by then: so the log alone says how
many rows of the last file were taken, also after a crash.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auroral.edge.durable import cut_back, storage_error, sync_folder, write_at

_NAME = "files.jsonl"


@dataclass(frozen=True, slots=True)
class Begun:
    """A file whose rows stand behind the first `first` of the input. `mark` tells it from others."""

    name: str
    first: int
    mark: Mapping[str, Any] = field(default_factory=dict)


class TakenFiles:
    """One process writes it."""

    def __init__(self, folder: Path):
        self.path = folder / _NAME
        self.ended: dict[str, Mapping[str, Any]] = {}
        """Names of files that are through, with the marks that they had."""
        self.unfinished: Begun | None = None
        self._length = 0
        for line in self.path.read_bytes().splitlines(keepends=True) if self.path.exists() else []:
            if line.endswith(b"\n"):
                # What a crash left behind the last whole line was never relied on.
                self._length += len(line)
                self._read(json.loads(line))

    def begin(self, begun: Begun) -> None:
        """Durable when this returns."""
        self._append({"begun": begun.name, "first": begun.first, "mark": begun.mark})

    def end(self, name: str, mark: Mapping[str, Any]) -> None:
        """Nothing more is read of it."""
        self._append({"ended": name, "mark": mark})

    def _read(self, line: Mapping[str, Any]) -> None:
        if "begun" in line:
            self.unfinished = Begun(line["begun"], line["first"], line["mark"])
        else:
            self.ended[line["ended"]] = line["mark"]
            self.unfinished = None

    def _append(self, line: Mapping[str, Any]) -> None:
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                end = write_at(fd, self._length, json.dumps(line).encode() + b"\n")
                # Where a crash had left more than that.
                cut_back(fd, end)
            finally:
                os.close(fd)
            if not self._length:
                sync_folder(self.path.parent)
        except OSError as error:
            raise storage_error(error, "which files an input has taken", self.path) from error
        self._length = end
        self._read(line)
