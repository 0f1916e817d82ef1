"""A diagram in a run's folder: pickled with the user's functions, and in words that can be compared.

A pickle can run any code when it is loaded: load only what you trust.
"""

from __future__ import annotations

import json
import pickle
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import cloudpickle

from auroral.edge.durable import replace_file, storage_error
from auroral.model.checking import Checked
from auroral.model.diagram import ConnectionPointView
from auroral.model.errors import AuroralError
from auroral.model.tables import Table
from auroral.node.functionwords import function_words

_PICKLE = "diagram.pickle"
_REPLACED = "diagrams.json"
TRUST = "a run folder holds a pickle, which can run any code: open only folders that you trust"


class RunFolderError(AuroralError):
    """A folder that is no run's, another run's, or one that cannot be read."""


def diagram_words(checked: Checked) -> tuple[str, ...]:
    """The diagram in lines of text, the same for the same meaning wherever it is written."""
    diagram = checked.diagram
    lines = [f"bucket {diagram.bucket}"]
    # Whose streams they are counts: names of another participant mean others.
    lines += [f"input {diagram.qualified(i.stream)} ({i.schema}) {i.stamp} late {i.late.value}" for i in diagram.inputs]
    # Of contents it counts what they are, not where they came from.
    lines += [f"{table}{_contents(table)}" for table in diagram.tables]
    for box in diagram.boxes:
        # Functions are shown with an address that differs from process to process.
        spec = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(box.spec))
        lines.append(f"box {box.name}: {', '.join(box.inputs)} -> {', '.join(box.outputs)}: {spec}")
    lines += [f"output {diagram.qualified(o.stream)}" for o in diagram.outputs]
    return (*lines, *(_kept(view) for view in diagram.views))


def _kept(view: ConnectionPointView) -> str:
    return (
        f"connection point {view.name} of {view.stream}: {view.order} {view.size} {view.start} {view.end} {view.radius}"
    )


def _contents(table: Table) -> str:
    rows = table.contents.rows if table.contents is not None else ()
    return f", {len(rows)} rows {sha256(repr(rows).encode()).hexdigest()[:16]}" if rows else ""


def pickled(checked: Checked) -> bytes:
    try:
        content: bytes = cloudpickle.dumps(checked)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise RunFolderError(
            f"the diagram {checked.diagram.name!r} cannot be stored: {error}\n"
            "    allowed: functions that use only values which can be pickled\n"
            "    next: let functions open files, sockets and sessions themselves, not hold them"
        ) from error
    return content


def refuse_other(path: Path, there: tuple[str, ...], checked: Checked) -> None:
    """Refuse to go on with a run whose diagram has other words."""
    here = diagram_words(checked)
    if here == there:
        return
    gone = [line for line in there if line not in here]
    new = [line for line in here if line not in there]
    changes = [f"- {line[:200]}" for line in gone[:3]] + [f"+ {line[:200]}" for line in new[:3]]
    raise RunFolderError(
        f"{path} is a run of another diagram (- as it was, + as it is now)\n    "
        + "\n    ".join(changes or ["only the order of boxes differs"])
        + "\n    next: choose a new run folder, or go on with the diagram that this one was made with, and with the same "
        "--bucket, --stime, --late, --delay and --idle-after; only functions may be mended"
    )


def renew(path: Path, checked: Checked, functions: str, frontier: int | None) -> None:
    """Store the diagram that a run goes on with; where its functions are others, note that they hold from `frontier` on.

    `functions` are those that the run was begun with. What was computed before was computed by the earlier ones, which
    are kept.
    """
    earlier = _replaced(path)
    known, now = (earlier[-1]["functions"] if earlier else functions), function_words(checked)
    kept = path / f"diagram-{len(earlier) + 1}.pickle"
    noted = [*earlier, {"since": frontier, "functions": now, "earlier": kept.name}]
    try:
        if known == now:
            # Even so: the diagram there may be another one, where this was interrupted before and a mend was taken back.
            if (same := _as_before(checked, kept)) is not None:
                replace_file(path / _PICKLE, same)
            kept.unlink(missing_ok=True)
            return
        if not kept.exists():
            # Otherwise this was interrupted before, and the diagram there may be the new one already.
            replace_file(kept, (path / _PICKLE).read_bytes())
        replace_file(path / _PICKLE, pickled(checked))
        replace_file(path / _REPLACED, json.dumps(noted, indent=1).encode())
    except OSError as error:
        raise storage_error(error, "the mended diagram", path / _PICKLE) from error


def _as_before(checked: Checked, kept: Path) -> bytes | None:
    """The diagram as it is to be stored; None where what is there already has to do."""
    try:
        return pickled(checked)
    except RunFolderError:
        # A function that was stored once may hold on to Spark since, as a udf does that was called.
        return kept.read_bytes() if kept.exists() else None


def replaced_notes(path: Path) -> list[str]:
    """From which stime on mended functions hold, in words."""
    return [
        f"functions of the diagram were mended: they hold from stime {one['since']} on, what lies before was computed by "
        f"those in {one['earlier']}"
        for one in _replaced(path)
        if one["since"] is not None
    ]


def _replaced(path: Path) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads((path / _REPLACED).read_text())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"{path / _REPLACED} cannot be read: {error}\n    next: restore it from a copy, or start a new run folder"
        ) from error
    return found


def load_diagram(path: Path) -> Checked:
    file = path / _PICKLE
    try:
        loaded = pickle.loads(file.read_bytes())
    # Unpickling imports the user's modules, which may fail in any way.
    except Exception as error:
        raise RunFolderError(
            f"{file} cannot be loaded: {type(error).__name__}: {error}\n"
            f"    allowed: the modules that the diagram's functions are in can be imported; {TRUST}\n"
            "    next: start where the run was started, or put those modules on PYTHONPATH"
        ) from error
    if not isinstance(loaded, Checked):
        raise RunFolderError(f"{file} holds a {type(loaded).__name__}, not a diagram\n    next: {TRUST}")
    return loaded
