"""A run's folder: everything that a run needs in order to go on, and `verify` in order to judge it.

| name | what |
|---|---|
| `run.json` | format, run id, inputs and outputs, flush, bucket, and the diagram in words |
| `diagram.pickle` | the checked diagram with the user's functions |
| `diagrams.json`, `diagram-N.pickle` | once functions were mended: from which stime on they hold, and the earlier ones |
| `diagram.txt` | the diagram as mermaid text, to read |
| `sources/STREAM/` | the source log: every row, before anything was computed from it |
| `outputs/STREAM.parquet/` | the run's own copy of each output, which `verify` reads |
| `history/VIEW/` | what each connection point keeps, for any reader of Parquet |
| `state/` | snapshots of fold state |
| `ledger.json` | how far the run has come, and the counts of its boxes |
| `verified.json`, `verified/` | what `verify` found equal, with the totals and the fold state to go on from |
| `course.jsonl` | how the run went over time, for `auroral report` (see `course`) |
| `cache/` | what the engine put out of memory; may be deleted while nothing runs |
| `lock` | held by the process that runs |
| `verify.lock` | held by processes that verify, and by the one that prunes |

**Only open run folders that you trust.** A pickle can run any code when it is loaded: resuming or verifying a
folder that somebody else made runs whatever they put into it, with your rights.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from auroral.edge.durable import claim, replace_file, storage_error
from auroral.model.checking import Checked
from auroral.node.account import Account
from auroral.node.functionwords import function_words
from auroral.node.storeddiagram import RunFolderError, diagram_words, load_diagram, pickled, refuse_other, renew

__all__ = ["RunFolder", "RunFolderError", "RunSettings"]

FORMAT = 4


@dataclass(frozen=True, slots=True)
class RunSettings:
    """`inputs` say where rows come from (a path with its speed, or `pushed`), `outputs` where they go.

    `functions` tells those of the diagram as it was when the run was begun from others.
    """

    run: str
    diagram: str
    bucket: int
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    flush: bool
    words: tuple[str, ...]
    functions: str
    format: int = FORMAT

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()


@dataclass(slots=True)
class RunFolder:
    """A run folder that this process may write, from `create` or `resume`; or only read, from `look`."""

    path: Path
    settings: RunSettings
    checked: Checked
    resumed: bool = False
    _lock: int | None = field(default=None, repr=False)

    @staticmethod
    def claim(
        path: Path, checked: Checked, inputs: Mapping[str, str], outputs: Mapping[str, str], flush: bool
    ) -> RunFolder:
        """A new run in `path`, or the one that is there, if it is of the same diagram."""
        descriptor = claim(path / "lock", "the run folder's lock")
        try:
            if (path / "run.json").exists():
                return _resumed(path, checked, flush, descriptor)
            _refuse_foreign(path)
            return _created(path, checked, inputs, outputs, flush, descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @staticmethod
    def resume(path: Path) -> RunFolder:
        """The run that is in `path`, with the diagram that is stored there. Trust the folder: see above."""
        _must_be_run(path)
        descriptor = claim(path / "lock", "the run folder's lock")
        try:
            return RunFolder(path, _settings(path), load_diagram(path), resumed=True, _lock=descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @staticmethod
    def look(path: Path) -> RunFolder:
        """For reading only, also while another process runs. Trust the folder: see above."""
        _must_be_run(path)
        return RunFolder(path, _settings(path), load_diagram(path), resumed=True)

    @staticmethod
    def settings_of(path: Path) -> RunSettings:
        """What a run was begun with. Loads no pickle."""
        _must_be_run(path)
        return _settings(path)

    def source(self, stream: str) -> Path:
        return self.path / "sources" / _file_name(stream)

    def output(self, stream: str) -> Path:
        return self.path / "outputs" / (_file_name(stream) + ".parquet")

    def history(self, view: str) -> Path:
        return self.path / "history" / _file_name(view)

    @property
    def deployed(self) -> bool:
        """Whether several processes run it: then each replica has the counts of its boxes, and the account stays empty."""
        return (self.path / "deployment.json").exists()

    @property
    def account(self) -> Path:
        return self.path / "ledger.json"

    @property
    def state(self) -> Path:
        return self.path / "state"

    @property
    def verified(self) -> Path:
        return self.path / "verified.json"

    @property
    def verified_states(self) -> Path:
        return self.path / "verified"

    @property
    def cache(self) -> Path:
        return self.path / "cache"

    def empty_cache(self) -> Path:
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir(parents=True, exist_ok=True)
        return self.cache

    def close(self) -> None:
        if self._lock is not None:
            shutil.rmtree(self.cache, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _file_name(stream: str) -> str:
    """Stream names may have slashes, or differ only in case; file names may not."""
    plain = quote(stream, safe=" ")
    if plain == stream == stream.lower() and len(stream) <= 100 and not stream.startswith("."):
        return stream
    return f"{plain[:80]}-{hashlib.blake2b(stream.encode(), digest_size=4).hexdigest()}"


def _created(
    path: Path,
    checked: Checked,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    flush: bool,
    descriptor: int,
) -> RunFolder:
    diagram = checked.diagram
    settings = RunSettings(
        f"{diagram.name}-{uuid.uuid4().hex[:12]}",
        diagram.name,
        diagram.bucket,
        dict(inputs),
        dict(outputs),
        flush,
        diagram_words(checked),
        function_words(checked),
    )
    try:
        replace_file(path / "diagram.txt", diagram.to_mermaid().encode())
        replace_file(path / "diagram.pickle", pickled(checked))
        # Last: with it the folder is a run's.
        replace_file(path / "run.json", settings.to_json())
    except OSError as error:
        raise storage_error(error, "the run's description", path) from error
    return RunFolder(path, settings, checked, _lock=descriptor)


def _resumed(path: Path, checked: Checked, flush: bool, descriptor: int) -> RunFolder:
    settings = _settings(path)
    refuse_other(path, settings.words, checked)
    if settings.flush != flush:
        raise RunFolderError(
            f"{path} was begun {'with' if settings.flush else 'without'} flush\n"
            "    next: go on with the same choice, or choose a new run folder"
        )
    renew(path, checked, settings.functions, Account.load(path / "ledger.json").frontier)
    return RunFolder(path, settings, checked, resumed=True, _lock=descriptor)


def _refuse_foreign(path: Path) -> None:
    # What a run that was killed at its very beginning may have left.
    ours = {"lock", "diagram.txt", "diagram.pickle", "diagram.txt.tmp", "diagram.pickle.tmp", "run.json.tmp"}
    others = sorted(entry.name for entry in path.iterdir() if entry.name not in ours)
    if others:
        (path / "lock").unlink(missing_ok=True)
        raise RunFolderError(
            f"{path} is not empty ({', '.join(others[:5])}) and is no run folder (run.json is missing)\n"
            "    allowed: a new or empty folder, or the folder of a run of this diagram\n"
            "    next: choose another folder"
        )


def _must_be_run(path: Path) -> None:
    if not (path / "run.json").is_file():
        near = sorted(found.parent.name for found in path.parent.glob("*/run.json"))[:5]
        raise RunFolderError(
            f"{path} is no run folder ({'run.json is missing' if path.is_dir() else 'there is no such folder'})\n"
            "    allowed: a folder that `auroral run` or auroral.run(..., folder=...) made\n"
            f"    next: {'run folders beside it: ' + ', '.join(near) if near else 'check the path'}"
        )


def _settings(path: Path) -> RunSettings:
    try:
        stored: dict[str, Any] = json.loads((path / "run.json").read_text())
        if (found := stored.get("format")) != FORMAT:
            raise RunFolderError(
                f"{path} cannot be used: another version of auroral wrote it, in format {found}\n    allowed: format {FORMAT}\n"
                "    next: go on with the version that wrote it, or start a new run folder"
            )
        return RunSettings(**(stored | {"words": tuple(stored["words"])}))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunFolderError(
            f"{path / 'run.json'} cannot be read: {error}\n    next: restore it from a copy, or start a new run folder"
        ) from error
