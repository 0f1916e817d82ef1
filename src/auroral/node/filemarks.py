"""What is remembered of an input file, beside its log: how long it was, and a hash of its beginning."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.edge.durable import replace_file, storage_error
from auroral.edge.files import PARQUET

_HEAD = 2**16
_NAME = "input.json"


@dataclass(frozen=True, slots=True)
class FileMark:
    """`size` in bytes, or in rows for Parquet, which is written anew to become longer and has no lasting `head`."""

    path: str
    size: int
    unit: str
    head: int = 0
    hash: str = ""

    @staticmethod
    def of(path: Path) -> FileMark | None:
        """None where there is no regular file: a pipe cannot be looked at twice."""
        try:
            if path.is_dir() or path.suffix.lower() in PARQUET:
                files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
                return FileMark(str(path), sum(pq.read_metadata(file).num_rows for file in files), "rows")
            if not path.is_file():
                return None
            size = path.stat().st_size
            head = min(size, _HEAD)
            return FileMark(str(path), size, "bytes", head, _hash(path, head))
        except (OSError, pa.ArrowException):
            return None

    def save(self, folder: Path) -> None:
        try:
            replace_file(folder / _NAME, json.dumps(asdict(self), ensure_ascii=False).encode())
        except OSError as error:
            raise storage_error(error, "what is known of an input file", folder / _NAME) from error

    @staticmethod
    def load(folder: Path) -> FileMark | None:
        """None where nothing readable is there: it only helps to notice a change early."""
        try:
            return FileMark(**json.loads((folder / _NAME).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def change(self, now: FileMark) -> str | None:
        """What speaks against `now` being the same file, perhaps longer; None if nothing does."""
        if now.unit != self.unit:
            return None
        if now.size < self.size:
            return f"it is shorter: it had {self.size} {self.unit} and has {now.size}"
        if self.head and _hash(Path(now.path), self.head) != self.hash:
            return f"its beginning has changed (the first {self.head} bytes of {self.path})"
        return None


def _hash(path: Path, length: int) -> str:
    with path.open("rb") as file:
        return hashlib.blake2b(file.read(length), digest_size=16).hexdigest()
