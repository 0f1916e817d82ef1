"""Whose the folder of a core is, and how far it was acknowledged.

The lock's file says which store the folder is of, the last list of effects that was acknowledged, and the last of them that changed the
plan or the layout. It is written after the list is durable, and not synced itself: it costs no time, and never says more than is on the
disk. What is missing of what it says is damage; without it, that would look like a write that a crash cut short. After a power cut it may
say less.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from auroral.edge.durable import InUse, lock_file, locked, write_at

NAME = "core.lock"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    store: bytes
    """Its name, drawn when it was made."""
    number: int = 0
    decided: int = 0

    def to_bytes(self) -> bytes:
        said = f"{self.store.hex()} {self.number:020} {self.decided:020}"
        return f"{said} {zlib.crc32(said.encode()):08x}\n".encode()

    @staticmethod
    def from_bytes(content: bytes) -> Acknowledged | None:
        """None where it is not whole: then nothing is known."""
        said, _, crc = content.partition(b"\n")[0].decode("ascii", "replace").rpartition(" ")
        if not said or crc != f"{zlib.crc32(said.encode()):08x}":
            return None
        store, number, decided = said.split(" ")
        return Acknowledged(bytes.fromhex(store), int(number), int(decided))


@dataclass(slots=True)
class CoreLock:
    fd: int

    @staticmethod
    def take(folder: Path) -> CoreLock:
        path = folder / NAME
        fd = lock_file(path, "what a core keeps")
        try:
            free = locked(fd, fcntl.LOCK_EX)
        except BaseException:
            os.close(fd)
            raise
        if not free:
            os.close(fd)
            raise InUse(
                f"{folder} is in use: a core that runs keeps what it has there\n"
                "    allowed: one core a folder, run by one process\n"
                "    next: stop the process that runs it, or give this core a folder of its own"
            )
        return CoreLock(fd)

    def read(self) -> Acknowledged | None:
        with suppress(OSError):
            return Acknowledged.from_bytes(os.pread(self.fd, 4096, 0))
        return None

    def begin(self) -> Acknowledged:
        """A new store."""
        said = Acknowledged(secrets.token_bytes(16))
        write_at(self.fd, 0, said.to_bytes())
        return said

    def note(self, said: Acknowledged) -> None:
        # Only a help against damage: where it cannot be written, the list is durable all the same.
        with suppress(OSError):
            os.pwrite(self.fd, said.to_bytes(), 0)

    def release(self) -> None:
        os.close(self.fd)
