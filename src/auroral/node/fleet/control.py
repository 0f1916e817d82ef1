"""Asking a process of a deployment: one line of JSON there, one back.

Each process listens on this machine alone, and answers only who knows the secret in its file, which its owner alone can read.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from auroral.model.errors import AuroralError

Answer = Callable[[Mapping[str, Any]], Awaitable[Any]]
MOST = 1 << 20
"""Bytes of a question."""
_LOCAL = "127.0.0.1"


class NoAnswer(AuroralError):
    """A process that does not answer, or not as it was asked to."""


class Control:
    """`answer` gets what was asked, a JSON object with `do`, and gives what is to be said to it."""

    def __init__(self, file: Path, answer: Answer):
        self.file, self.answer = file, answer
        self._secret = secrets.token_hex(16)
        self._server: asyncio.Server | None = None

    async def start(self, **more: Any) -> None:
        """Also writes down `more`, for whoever looks at the file."""
        self._server = await asyncio.start_server(self._serve, _LOCAL, 0, limit=MOST)
        port = self._server.sockets[0].getsockname()[1]
        said = json.dumps(
            {"pid": os.getpid(), "born": _born(os.getpid()), "port": port, "secret": self._secret, **more}
        ).encode()
        # Made anew, so that nobody who had it open can read it.
        temporary = self.file.with_suffix(".new")
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(said)
        temporary.replace(self.file)

    async def stop(self) -> None:
        self.file.unlink(missing_ok=True)
        if self._server is not None:
            # Not waited for: somebody may wait for an answer that does not come any more.
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            said = await self._answered(await reader.readline())
            writer.write(json.dumps(said).encode() + b"\n")
            await writer.drain()
        except (OSError, ValueError):
            # Whoever asked has gone, or said more than a question may have.
            pass
        finally:
            writer.close()

    async def _answered(self, line: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(line)
            known = isinstance(asked, dict) and hmac.compare_digest(str(asked.get("secret")), self._secret)
        except ValueError:
            known = False
        if not known:
            return {"error": "refused: the secret in the process's file is wanted"}
        try:
            return {"answer": await self.answer(asked)}
        except AuroralError as error:
            return {"error": str(error)}


def known(file: Path) -> dict[str, Any] | None:
    """What a process that lives wrote down; None where it does not."""
    try:
        said: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    # After the machine was started again, another process may have the number.
    return said if alive(int(said["pid"])) and said.get("born") == _born(int(said["pid"])) else None


def _born(pid: int) -> str | None:
    """When it was started, in the words of this machine; None where that is not told."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        # One that has ended, and that nobody has asked after yet.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True


def ask(file: Path, do: str, timeout: float = 10.0, **more: Any) -> Any:
    """Blocking."""
    name, said = file.stem, known(file)
    if said is None:
        raise NoAnswer(f"{name} is not running\n    next: auroral status FOLDER shows who is")
    question = json.dumps({"do": do, "secret": said["secret"], **more}).encode() + b"\n"
    try:
        with socket.create_connection((_LOCAL, said["port"]), timeout) as connection:
            connection.sendall(question)
            with connection.makefile("rb") as answers:
                line = answers.readline()
        found = json.loads(line)
    except (OSError, ValueError) as error:
        raise NoAnswer(
            f"{name} (process {said['pid']}) does not answer: {error}\n    next: look into logs/{name}.log"
        ) from error
    if "error" in found:
        raise NoAnswer(f"{name}: {found['error']}")
    return found["answer"]
