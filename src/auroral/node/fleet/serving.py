"""Serves the outputs of a deployment to applications, over Arrow Flight: `DoGet` with a ticket of `wire.outputs`.

Only who knows the token is told anything. It is in the folder's `token`, which its owner alone can read, or in AURORAL_TOKEN where the
process was started with that. With certificates, who reads must have one for readers besides, and nobody else can read what is told.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.flight as fl

from auroral.edge.durable import sync_folder, write_at
from auroral.edge.sinks import output_schema
from auroral.model.deployment import Endpoint
from auroral.model.errors import AuroralError
from auroral.node.fleet.outputs import Outputs, Reader
from auroral.node.outputlog import LetGo
from auroral.wire.certificates import Certificates
from auroral.wire.errors import WireError
from auroral.wire.exchange import BROKEN
from auroral.wire.outputs import BEAT, OUTPUTS, TOKEN_HEADER, VERSION, Asked, Kind, Told, nothing, told
from auroral.wire.sockets import sever

TOKEN, TOKEN_VARIABLE = "token", "AURORAL_TOKEN"
OPERATOR_TOKEN = "operator-token"
"""What the page asks of who wants to change something."""
Noted: TypeAlias = Callable[[str, str], None]
LEAST_TOKEN = 16
MOST_READERS = 256
"""Each has a thread."""
_EACH_WAIT = 0.02


def token_of(folder: Path) -> str:
    """The same in every life, made where there is none."""
    if (given := os.environ.get(TOKEN_VARIABLE)) is not None:
        return _long_enough(given, TOKEN_VARIABLE)
    return secret_in(folder / TOKEN)


def secret_in(file: Path) -> str:
    """For its owner alone; the same in every life, made where there is none."""
    if not file.exists():
        temporary = file.with_suffix(".new")
        temporary.unlink(missing_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_at(fd, 0, secrets.token_hex(16).encode())
        finally:
            os.close(fd)
        temporary.replace(file)
        sync_folder(file.parent)
    return _long_enough(file.read_text().strip(), str(file))


def _long_enough(token: str, where: str) -> str:
    if len(token) < LEAST_TOKEN:
        raise AuroralError(
            f"{where} has a token of {len(token)} characters, which others could guess\n"
            f"    allowed: {LEAST_TOKEN} characters or more\n"
            f"    next: choose a longer one; or take {where} away, and one is made"
        )
    return token


class OutputServer(fl.FlightServerBase):  # type: ignore[misc]
    """Listens once it is made; tells something once it has `outputs`."""

    def __init__(self, at: Endpoint, token: str, refused: Noted, certificates: Certificates | None = None):
        """`refused` is told of callers who are, by kind and in words, in threads of gRPC's."""
        self.outputs: Outputs | None = None
        scheme, secure = ("grpc", {}) if certificates is None else ("grpc+tls", certificates.of_server)
        try:
            super().__init__(f"{scheme}://{at}", middleware={TOKEN: _Doorkeeper(token, refused)}, **secure)
        except (*BROKEN, OSError) as error:
            raise AuroralError(
                f"outputs cannot be served at {at}: {str(error)[:200]}\n"
                "    allowed: an address of this machine and a port that nobody listens on\n"
                '    next: end what listens there; or change "serve" in deployment.json'
            ) from error

    async def stop(self) -> None:
        if self.outputs is not None:
            self.outputs.end()
        stopping = asyncio.ensure_future(asyncio.to_thread(self.shutdown))
        # It waits for every call to end, and a reader that stands still ends none.
        while not stopping.done():
            await asyncio.wait([stopping], timeout=_EACH_WAIT)
            sever(local=self.port)
        await stopping

    def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
        if action.type != OUTPUTS:
            raise pa.ArrowInvalid(f"there is no action {action.type!r}; allowed: {OUTPUTS}")
        outputs = self._begun()
        said = {stream: {"frontier": frontier} for stream, frontier in outputs.frontiers.items()}
        told = {"version": VERSION, "bucket": outputs.bucket, "begin": outputs.begin, "outputs": said}
        yield json.dumps(told | {"views": outputs.views()}).encode()

    def list_actions(self, context: Any) -> list[tuple[str, str]]:
        return [(OUTPUTS, "which outputs there are, and up to which stime each is stable")]

    def do_get(self, context: Any, ticket: Any) -> Any:
        outputs = self._begun()
        try:
            asked = Asked.from_bytes(ticket.ticket)
        except WireError as error:
            raise pa.ArrowInvalid(str(error)) from error
        if asked.stream not in outputs.logs:
            raise pa.ArrowInvalid(f"there is no output {asked.stream!r}; allowed: {', '.join(outputs.logs)}")
        if len(outputs.readers) >= MOST_READERS:
            # It passes: who asks waits, and asks again.
            raise fl.FlightUnavailableError(f"there are {len(outputs.readers)} readers; allowed: {MOST_READERS}")
        schema = output_schema(outputs.logs[asked.stream].schema)
        return fl.GeneratorStream(schema, _answers(outputs, asked, context, schema))

    def _begun(self) -> Outputs:
        if self.outputs is None or self.outputs.over:
            raise fl.FlightUnavailableError("the deployment has not begun, or ends")
        return self.outputs


def _answers(outputs: Outputs, asked: Asked, context: Any, schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, bytes]]:
    """In a thread of gRPC's, which waits where whoever reads takes nothing."""
    with Reader(outputs, context.peer(), asked.stream, asked.since, asked.tentative, asked.shown) as reader:
        # At once, so that whoever asked knows that it is heard, and from where on.
        yield nothing(schema), Told(Kind.ALIVE, reader.position, reader.position).to_bytes()
        while not context.is_cancelled():
            try:
                delivery = reader.take(BEAT if asked.follow else 0)
            except LetGo as error:
                # Asked again, it would be the same.
                raise pa.ArrowInvalid(str(error)) from error
            if delivery is not None:
                yield from told(delivery, reader.dropped)
            elif outputs.over:
                raise fl.FlightUnavailableError("the deployment ends")
            elif not asked.follow:
                return
            else:
                yield (
                    nothing(schema),
                    Told(Kind.ALIVE, reader.position, reader.position, "", False, reader.dropped).to_bytes(),
                )


class _Doorkeeper(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    def __init__(self, token: str, refused: Noted):
        self.token, self.refused = token.encode(), refused

    def start_call(self, info: Any, headers: Any) -> None:
        for said in headers.get(TOKEN_HEADER, []):
            given = said if isinstance(said, bytes) else said.encode()
            if hmac.compare_digest(given, b"Bearer " + self.token):
                return
        self.refused("token", "somebody who reads outputs came without the token of this deployment")
        raise fl.FlightUnauthenticatedError("the token of this deployment is wanted")
