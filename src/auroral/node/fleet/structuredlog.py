"""What a process says of itself, for machines: a line of JSON for each record, in `logs/NAME.jsonl`.

| field | what |
|---|---|
| `time` | in UTC, with microseconds |
| `level` | `INFO`, `WARNING`, `ERROR` or `CRITICAL` |
| `process` | its name in the deployment |
| `logger` | the part of the program that says it; `auroral.events` has what `auroral events` lists |
| `message` | in words |
| `core`, `stream`, `bucket` | whom and what it is about, where that is known |
| `event` | of `auroral.events`: the kind, and, under their own names, what else was noted |
| `error` | the traceback, where there is one |

What others write to standard error, as Java and gRPC do, is no record and stays in `logs/NAME.log`.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)
EVENTS = "auroral.events"
RESERVED = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; the rest was said with `extra`."""


class JsonLines(logging.Formatter):
    def __init__(self, process: str):
        super().__init__()
        self.process = process

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname,
            "process": self.process,
            "logger": record.name,
            "message": record.getMessage(),
        }
        said |= {
            key: value for key, value in vars(record).items() if key not in RESERVED and key not in said and value != ""
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        # A file name need not be UTF-8.
        return json.dumps(said, default=str).encode("ascii", "backslashreplace").decode()


def log_of(folder: Path, process: str) -> Path:
    return folder / "logs" / f"{process}.jsonl"


def begin_logging(folder: Path, process: str, form: str) -> None:
    """Of this program, which is the process."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    logging.captureWarnings(True)
    if form == JSON:
        handler = WatchedFileHandler(log_of(folder, process), encoding="utf-8")
        handler.setFormatter(JsonLines(process))
        logging.getLogger().addHandler(handler)
        logging.getLogger(EVENTS).setLevel(logging.INFO)
