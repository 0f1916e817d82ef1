"""All peers of a node, and which of them are strangers: those are limited, and forgotten when they are gone."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.wire.addresses import AddressBook
from auroral.wire.errors import WireError
from auroral.wire.peers import Peer

STRANGERS = "(strangers)"
"""The peer that refusals of unknown callers are counted with: a name that anybody can claim must not fill the memory."""


class Known:
    def __init__(self, book: AddressBook, strangers: int):
        self.book, self.strangers = book, strangers
        self._peers: dict[str, Peer] = {}

    def __iter__(self) -> Iterator[Peer]:
        return iter(self._peers.values())

    def __contains__(self, name: str) -> bool:
        return name in self._peers

    def get(self, name: str) -> Peer | None:
        return self._peers.get(name)

    def named(self, name: str) -> Peer:
        """Known from now on."""
        if name not in self._peers:
            self._peers[name] = Peer(name)
        return self._peers[name]

    def forget(self, stranger: Peer) -> None:
        """What was counted of it stays, with that of all others."""
        del self._peers[stranger.name]
        self.named(STRANGERS).counters.absorb(stranger.counters)

    def check_room(self, name: str, certified: str | None) -> None:
        """WireError for one stranger too many."""
        known = self.get(name)
        if certified is not None or name in self.book or (known is not None and known.link is not None):
            return
        in_book = {*self.book.nodes, *self.book.cores.values()}
        linked = [peer for peer in self if peer.link is not None]
        strangers = sum(not peer.certified and peer.name not in in_book for peer in linked)
        if strangers >= self.strangers:
            raise WireError(
                f"there are {strangers} connections of nodes that are in no book",
                name,
                f"at most {self.strangers}",
                "put the node into the address book, use certificates, or let more in (`strangers` of the transport)",
            )

    def is_stranger(self, peer: Peer) -> bool:
        """Whether anybody could have claimed its name, and nobody here has done anything to it."""
        return not (peer.certified or peer.name in self.book or peer.cut or peer.delay or peer.name == STRANGERS)
