"""Any number of processes may verify a run folder at once; only one that is alone may prune it or record what it found."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from auroral.edge.durable import InUse, locked, storage_error

_NAME = "verify.lock"


@contextmanager
def verifying(path: Path) -> Iterator[int | None]:
    """Keep the folder from being pruned; gives what `alone` takes.

    None where the folder cannot be written by us: then nothing can be recorded. Its owner can still prune it; to keep
    that away, the lock that is there is taken for reading, or else there is nothing to take.
    """
    try:
        descriptor = os.open(path / _NAME, os.O_RDWR | os.O_CREAT, 0o644)
        writable = True
    except OSError:
        writable = False
        try:
            descriptor = os.open(path / _NAME, os.O_RDONLY)
        except OSError:
            yield None
            return
    try:
        if not locked(descriptor, fcntl.LOCK_SH):
            raise InUse(
                f"{path} is being pruned by another process\n    allowed: one that prunes, or any number that verify\n"
                "    next: wait for it to end, then verify"
            )
        yield descriptor if writable else None
    finally:
        os.close(descriptor)


def alone(descriptor: int) -> bool:
    """Whether nobody else verifies now; from here on nobody else can begin to."""
    return locked(descriptor, fcntl.LOCK_EX)


@contextmanager
def pruning(path: Path) -> Iterator[None]:
    """Keep everybody from verifying the folder."""
    try:
        descriptor = os.open(path / _NAME, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise storage_error(error, "the lock for verifying", path / _NAME) from error
    try:
        if not alone(descriptor):
            raise InUse(
                f"{path} is being verified by another process\n    allowed: one that prunes, or any number that verify\n"
                "    next: wait for the verification to end, then prune"
            )
        yield
    finally:
        os.close(descriptor)
