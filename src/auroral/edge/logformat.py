"""What a source log is of: `log.json`, its format and the schema of its rows."""

from __future__ import annotations

import json
from pathlib import Path

from auroral.edge.durable import replace_file
from auroral.model.errors import AuroralError
from auroral.model.schema import Schema

FORMAT = 1


class SourceLogError(AuroralError):
    """A folder that is no source log, one of another source, or one that must be opened again."""


def check_schema(folder: Path, schema: Schema) -> None:
    """Note down what a new log is of; refuse one that is of something else."""
    path = folder / "log.json"
    described = {"format": FORMAT, "schema": str(schema)}
    if not path.exists():
        replace_file(path, json.dumps(described, ensure_ascii=False).encode())
        return
    try:
        found: dict[str, object] = {**json.loads(path.read_text())}
    except (ValueError, TypeError) as error:
        raise SourceLogError(
            f"{path} is damaged: {error}\n    allowed: format {FORMAT}, schema {str(schema)!r}\n"
            "    next: restore it from a copy of the run folder, or start a new one"
        ) from error
    if found != described:
        raise SourceLogError(
            f"{folder} is the log of another input: format {found.get('format')}, "
            f"schema {found.get('schema')!r}\n    allowed: format {FORMAT}, schema {str(schema)!r}\n"
            "    next: start a new run folder, or restore the diagram that this one was made with"
        )
