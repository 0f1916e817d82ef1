"""What a node on another machine needs of a deployment's folder, as one file.

All processes must agree on the first bucket. It is chosen once, by the machine that has the sources and the client, when it begins; what is
packed has it. A node that begins later is as one that was away from the beginning: it is mute until it is right, and all that it needs is
kept for it.
"""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from auroral.edge.durable import storage_error
from auroral.node.fleet.deployed import FOLDERS, HERE, SPARK, TLS, Deployed, DeploymentError

_KEPT = (
    *("run.json", "diagram.txt", "diagram.pickle", "layout.json"),
    *("deployment.json", "deployment.xml", "deployment.yaml"),
)


def pack(deployed: Deployed, names: Sequence[str], file: Path) -> None:
    """For nodes that run together on another machine. The file has their keys: it is for its owner alone."""
    for name in names:
        if name not in deployed.elsewhere:
            raise DeploymentError(
                f"{name!r} does not run on another machine\n"
                f"    allowed: {', '.join(deployed.elsewhere) or 'none: no node of this deployment does'}\n"
                "    next: name a node whose endpoint has another host than --host"
            )
    if deployed.agreed.first is None:
        raise DeploymentError(
            f"{deployed.folder} has not begun, so that nobody could agree on when it did\n"
            f"    next: auroral up --folder {deployed.folder} begins it; then pack"
        )
    theirs = (*names, *([SPARK] if set(names).intersection(deployed.sharing) else []))
    try:
        with (
            os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened,
            tarfile.open(fileobj=opened, mode="w:gz") as packed,
        ):
            for folder in FOLDERS:
                _add_folder(packed, folder, 0o755)
            _add(packed, HERE, json.dumps(sorted(names)).encode(), 0o644)
            for kept in _KEPT:
                if (path := deployed.folder / kept).exists():
                    _add(packed, kept, path.read_bytes(), 0o644)
            for name in theirs if deployed.agreed.tls else ():
                _add_folder(packed, f"{TLS}/{name}", 0o700)
                for path in sorted((deployed.folder / TLS / name).iterdir()):
                    _add(packed, f"{TLS}/{name}/{path.name}", path.read_bytes(), 0o600)
    except OSError as error:
        raise storage_error(error, "what was packed", file) from error


def _add(packed: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    packed.addfile(entry, BytesIO(content))


def _add_folder(packed: tarfile.TarFile, name: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    packed.addfile(entry)
