"""The source of an input within a program of the user's: the proxy of D74 and D75 as a library.

It does all that the process of a source does: rows are stamped and logged durably, closed buckets go to all replicas that read them, what
these acknowledge is forgotten, what they ask for is given again. After a SIGKILL the program opens it again, and it goes on with its log.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from auroral.edge.intake import Way, parse_intake
from auroral.model.errors import AuroralError, unknown_name
from auroral.node.feeds import wall_clock
from auroral.node.fleet.control import known
from auroral.node.fleet.deployed import Deployed, DeploymentError, agreed_in
from auroral.node.fleet.process import lived
from auroral.node.fleet.roles.source import SourceProcess
from auroral.node.pushed import pushed_table
from auroral.node.source import Taken
from auroral.node.storeddiagram import load_diagram


class SourceEnded(AuroralError):
    """The source gives nothing any more: it was closed, or the deployment was ended."""


class EmbeddedSource:
    """Any thread may push. `folder` is the deployment's."""

    def __init__(self, folder: str | os.PathLike[str], stream: str):
        self.stream, self.folder = stream, Path(folder).absolute()
        agreed_in(self.folder)
        deployed = Deployed.look(self.folder, load_diagram(self.folder))
        _must_be_ours(deployed, stream)
        self._deployed = deployed
        self._process: _Source | None = None
        self._failure: BaseException | None = None
        self._ready, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"source {stream}", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def push(self, rows: pa.Table | Iterable[Mapping[str, Any]]) -> Taken:
        """Rows as dicts, a pyarrow Table or a pandas DataFrame. Logged durably when this returns: where the deployment has not begun yet, or those
        who read are so far behind that their buffers are full, that is later. A wrong row raises, and none is taken."""
        process = self._living()
        taken = process.source.take_in(pushed_table(process.source.input, rows), wall_clock())
        process.wake()
        return taken

    @property
    def position(self) -> int:
        """How many rows of the input were ever pushed, those left out included: from which row to go on."""
        return self._living().source.state.rows_read

    def end(self) -> None:
        """No more rows come, ever: whoever waits for some is told so."""
        process = self._living()
        process.source.end()
        process.wake()

    def close(self) -> None:
        """It has fallen silent, and can be opened again. To say so twice is no error."""
        if self._process is not None:
            self._process.ask_to_end()
        self._thread.join()

    def __enter__(self) -> EmbeddedSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _living(self) -> _Source:
        if self._process is not None:
            self._process.open.wait()
        if self._process is None or self._over.is_set():
            raise SourceEnded(
                f"the source of {self.stream!r} has ended" + (f": {self._failure}" if self._failure else "") + "\n"
                "    allowed: rows while it is open and the deployment runs\n    next: open it again; what was pushed is logged"
            ) from self._failure
        return self._process

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:  # noqa: BLE001  it is raised where it is used
            self._failure = error
        finally:
            self._over.set()
            self._ready.set()
            if self._process is not None:
                # Nobody waits any more for what does not come.
                self._process.open.set()

    async def _live(self) -> None:
        process = _Source(self._deployed, self.stream)

        def reached() -> None:
            self._process = process
            self._ready.set()

        await lived(process, reached)


class _Source(SourceProcess):
    """Which ends when the deployment does, and not with a signal: the program goes on."""

    async def prepare(self) -> None:
        await super().prepare()
        self.open = threading.Event()
        self.known = {"embedded": True}
        self.doing |= {"leave": self._leave}

    async def begin(self) -> None:
        await super().begin()
        self.open.set()

    async def _leave(self, asked: Mapping[str, Any]) -> None:
        self.ended.set()


def _must_be_ours(deployed: Deployed, stream: str) -> None:
    inputs = deployed.agreed.inputs
    if stream not in inputs:
        raise DeploymentError(str(unknown_name("input", stream, list(inputs))))
    if parse_intake(stream, inputs[stream]).way is not Way.PROGRAM:
        raise DeploymentError(
            f"the rows of {stream!r} come from {inputs[stream]}, and not from a program\n"
            f"    allowed: inputs of a deployment that was begun with --input {stream}=program\n"
            "    next: to send rows to a source with an address, auroral.client.Sender"
        )
    if (said := known(deployed.folder / "processes" / f"{stream}.json")) is not None:
        raise DeploymentError(
            f"the source of {stream!r} is open in process {said['pid']}\n    allowed: one at a time\n    next: close it there"
        )
