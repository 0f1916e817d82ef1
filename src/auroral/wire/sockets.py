"""Ends a TCP connection of this process from outside of whatever library uses it.

Flight has no way to end a call from the server's side, and gRPC does not let go of a blocked write before the network does: with a peer
that stands still, a thread would be stuck until it wakes. When the socket is shut down, both see a broken connection at once.

Of all that the process has open, sockets alone are touched. Whoever closes a copy of a file's descriptor gives up every POSIX lock that the
process has on the file: a database would be open to other processes in the middle of a transaction.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from urllib.parse import unquote

_PEER = re.compile(r"ipv[46]:\[?([0-9A-Fa-f:.]+)(?:%[^\]]*)?\]?:([0-9]+)")
_LINUX = "/proc/self/fd"
_OPEN = _LINUX if os.path.isdir(_LINUX) else "/dev/fd"
"""What the process has open, by number."""
Address = tuple[str, int]
Ends = tuple[Address, Address]
"""Of a connection: here, and there."""


def grpc_address(peer: str) -> Address | None:
    """Of gRPC's text, `ipv4:127.0.0.1:4711` or `ipv6:%5B::1%5D:4711`."""
    found = _PEER.fullmatch(unquote(peer))
    return None if found is None else (plain(found[1]), int(found[2]))


def sever(*, local: Address | int | None = None, remote: Address | int | None = None) -> int:
    """Shuts down the connections with these ends, each an address with its port or any with the port. Gives how many."""
    ended = 0
    for found in _connections(local, remote):
        with found, suppress(OSError):
            found.shutdown(socket.SHUT_RDWR)
            ended += 1
    return ended


def sever_all(ends: Iterable[Ends]) -> int:
    """These, and no others to the same port."""
    return sum(sever(local=local, remote=remote) for local, remote in ends)


def connections(port: int) -> set[Ends]:
    """Those of this process to this port, wherever."""
    found = set()
    for one in _connections(None, port):
        with one, suppress(OSError):
            (here, own), (there, other) = one.getsockname()[:2], one.getpeername()[:2]
            found.add(((plain(here), own), (plain(there), other)))
    return found


def _connections(local: Address | int | None, remote: Address | int | None) -> Iterator[socket.socket]:
    for name in os.listdir(_OPEN):
        if name.isdecimal() and (found := _duplicate(int(name))) is not None:
            try:
                right = _matches(found.getsockname(), local) and _matches(found.getpeername(), remote)
            except OSError:
                # It is not connected, or has just ended.
                right = False
            if right:
                yield found
            else:
                found.close()


def _duplicate(number: int) -> socket.socket | None:
    """A number may mean another socket by the time it is looked at: what is looked at is a copy, which stays what it is."""
    if not _is_socket(number):
        return None
    try:
        copy = os.dup(number)
    except OSError:
        return None
    try:
        found = socket.socket(fileno=copy)
    except OSError:
        # Between the look and the copy it came to mean a file. That hardly ever happens, and a copy that is left open harms nobody.
        return None
    if found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM:
        return found
    found.close()
    return None


def _is_socket(number: int) -> bool:
    try:
        if _OPEN == _LINUX:
            # Unlike its state, the name of a file is known without asking the disk or the server that has it.
            return os.readlink(f"{_OPEN}/{number}").startswith("socket:")
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False


def _matches(address: tuple[str, int], wanted: Address | int | None) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, int):
        return address[1] == wanted
    return (plain(address[0]), address[1]) == wanted


def plain(address: str) -> str:
    """One text for each address, whatever the network that it was seen in calls it."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)
