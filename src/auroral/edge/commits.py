"""The commit of an output: the small file that says how much of it counts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from auroral.edge.durable import replace_file
from auroral.edge.sinks import OutputError, is_text


@dataclass(frozen=True, slots=True)
class Commit:
    """`length` is the bytes of a file or the parts of a folder that belong to the output, up to stime
    `frontier`. Of a folder whose old rows are let go, the first `gone` parts are not there any more: `let_go` rows, all below stime `base`."""

    schema: str
    owner: str
    frontier: int | None = None
    length: int = 0
    rows: int = 0
    gone: int = 0
    let_go: int = 0
    base: int | None = None

    def is_in(self, path: Path) -> bool:
        """Whether this very commit is what `path` holds."""
        return path.read_bytes() == self._stored()

    def _stored(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    def save(self, path: Path) -> None:
        replace_file(path, self._stored())


def commit_path(output: Path) -> Path:
    """Beside a file, in a folder."""
    return output.with_name(output.name + ".commit") if is_text(output) else output / "_commit.json"


def read(path: Path) -> Commit:
    """What `path` says. Raises OSError, ValueError or TypeError where that is no commit."""
    return Commit(**json.loads(path.read_text()))


def load(output: Path, schema: str, owner: str) -> Commit | None:
    """The commit of `output`, or None where it is new; refused where it is another run's or another
    schema's."""
    path = commit_path(output)
    try:
        found = read(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise OutputError(
            f"{path} cannot be read as the commit of {output}: {error}\n"
            f"    next: restore it from a copy, or remove it and {output} to write the output anew"
        ) from error
    if found.owner != owner:
        raise OutputError(
            f"{output} was written by another run ({found.owner or 'without a name'})\n"
            f"    allowed: the same run may go on with it ({owner or 'without a name'})\n"
            f"    next: choose another output, or remove {output} and {path}"
        )
    if found.schema != schema:
        raise OutputError(
            f"{output} was written with the schema {found.schema!r}\n    allowed: {schema!r}\n"
            f"    next: choose another output, or remove {output} and {path}"
        )
    return found


def refuse_foreign(output: Path, commit: Path) -> OutputError:
    return OutputError(
        f"{output} is there already and is not an unfinished output (there is no {commit.name})\n"
        "    allowed: a name that does not exist yet, or the output of this run\n"
        f"    next: choose another output, or remove {output}"
    )
