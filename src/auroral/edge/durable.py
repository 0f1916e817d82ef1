"""Bytes that are still there after a power cut: writing, cutting back and replacing files, and whose they
are."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from auroral.model.errors import AuroralError

FULL = (errno.ENOSPC, errno.EDQUOT)

# Not the same command: that would be a new run, which refuses outputs that are there.
_GO_ON = "then go on with what there is, as by auroral run --resume RUN_FOLDER"


class StorageError(AuroralError):
    """The disk did not take what was written. Nothing of it counts; what was there before is untouched."""


class StorageFull(StorageError):
    """There is no room left. After making room the same call may be made again."""


class InUse(AuroralError):
    """Another process writes here."""


def storage_error(error: OSError, what: str, path: Path) -> StorageError:
    """The error to raise when writing `what` to `path` failed and was undone."""
    if error.errno in FULL:
        return StorageFull(
            f"the disk is full: {what} could not be written to {path}; nothing of it was kept\n"
            "    allowed: what was written before is safe, and the run can go on from it\n"
            f"    next: make room on the disk that holds {path.parent}, {_GO_ON}"
        )
    return StorageError(
        f"{what} could not be written to {path}: {error.strerror}; nothing of it was kept\n"
        f"    next: check that {path.parent} can be written, {_GO_ON}"
    )


def write_at(fd: int, position: int, *parts: bytes | memoryview) -> int:
    """Write the parts one after the other from `position` on, and sync. Gives the end."""
    for part in parts:
        view = memoryview(part)
        while view:
            written = os.pwrite(fd, view, position)
            position += written
            view = view[written:]
    os.fsync(fd)
    return position


def cut_back(fd: int, length: int) -> None:
    os.ftruncate(fd, length)
    os.fsync(fd)


def sync_folder(folder: Path) -> None:
    """Make names that were created, renamed or removed in `folder` durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folder(folder: Path) -> None:
    """A folder and those above it, durable under their names: a synced file in a lost folder is lost too."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in reversed(missing):
        sync_folder(place.parent)


def write_new(path: Path, content: bytes | memoryview) -> None:
    """A whole new file, durable under its name when this returns, absent when this raises."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        write_at(fd, 0, content)
    except OSError:
        os.close(fd)
        path.unlink(missing_ok=True)
        raise
    os.close(fd)
    sync_folder(path.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` in the place of `path` in one step: a reader sees the old or the new, never a part."""
    temporary = path.with_name(path.name + ".tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        write_at(fd, 0, content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    sync_folder(path.parent)


def lock_file(path: Path, what: str) -> int:
    """Opened, and made with its folder where it is not there. `what` is that which it is a lock of, in words."""
    try:
        make_folder(path.parent)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise storage_error(error, what, path) from error


def claim(path: Path, what: str) -> int:
    """The folder of this lock file is this process's, until the descriptor that this gives is closed."""
    descriptor = lock_file(path, what)
    try:
        lock(descriptor, path.parent)
    except AuroralError:
        os.close(descriptor)
        raise
    return descriptor


def lock(fd: int, path: Path) -> None:
    """Claim `path` for this process, through an open descriptor; it ends with the descriptor, so also with
    a crash."""
    if not locked(fd, fcntl.LOCK_EX):
        raise InUse(
            f"{path} is already being written by another process\n"
            "    allowed: one writer and any number of readers\n"
            "    next: wait for the other run or stop it; to look at it meanwhile, open it for reading"
        )


def locked(fd: int, how: int) -> bool:
    """Take a lock at once, LOCK_EX or LOCK_SH; False where somebody else has it."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StorageError(
            f"a lock cannot be taken: {error.strerror or error}\n"
            "    allowed: folders on a file system that has locks (flock)\n"
            "    next: use a folder on a local disk"
        ) from error
    return True
