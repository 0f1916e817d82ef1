"""A diagram in a run's folder: pickled with the user's functions, and in words that can be compared.

A pickle can run any code when it is loaded: load only what you trust.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import cloudpickle

from auroral.model.checking import Checked
from auroral.model.errors import AuroralError

TRUST = "a run folder holds a pickle, which can run any code: open only folders that you trust"


class RunFolderError(AuroralError):
    """A folder that is no run's, another run's, or one that cannot be read."""


def diagram_words(checked: Checked) -> tuple[str, ...]:
    """The diagram in lines of text, the same for the same meaning wherever it is written."""
    diagram = checked.diagram
    lines = [f"bucket {diagram.bucket}"]
    lines += [f"input {i.stream} ({i.schema}) {i.stamp} late {i.late.value}" for i in diagram.inputs]
    for box in diagram.boxes:
        # Functions are shown with an address that differs from process to process.
        spec = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(box.spec))
        lines.append(f"box {box.name}: {', '.join(box.inputs)} -> {', '.join(box.outputs)}: {spec}")
    return (*lines, *(f"output {o.stream}" for o in diagram.outputs))


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


def load_diagram(path: Path) -> Checked:
    file = path / "diagram.pickle"
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
