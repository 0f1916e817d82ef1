"""The state of a fold as an immutable value: what each key has, and when it is due.

A new version shares all that is equal with the one before (`immutables.Map`, a hash trie): lines, chains and snapshots that go on from one
state cost what they change, and only keys that are touched are ever looked at. The digest does not depend on the order in which keys came,
nor on the way that led to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from immutables import Map

from auroral.engine.statecodec import decoded, encoded, first_of

_DIGEST = 16
"""Bytes."""
_MODULUS = 1 << 8 * _DIGEST
LONGEST_TRAIL = 4096

Changes = Mapping[bytes, bytes | None]
"""Keys with what they have now, None for those that are forgotten."""


@dataclass(frozen=True, slots=True, eq=False)
class Trail:
    """Which keys a version changed, and those before it, back to where the trail was cut."""

    keys: tuple[bytes, ...] = ()
    before: Trail | None = None
    length: int = 0
    touched: int = 0
    version: object = field(default_factory=object)

    def followed_by(self, keys: tuple[bytes, ...], size: int) -> Trail:
        """One that gets as long as the state itself is cut: then the whole costs no more than what has changed."""
        before = self
        if self.touched + len(keys) > size or self.length >= LONGEST_TRAIL:
            before = self._recent(size // 2 - len(keys))
        return Trail(keys, before, before.length + 1, before.touched + len(keys))

    def _recent(self, most: int) -> Trail:
        """The end of this trail, with so many keys at most and half as long as a trail may be."""
        kept: list[Trail] = []
        at: Trail | None = self
        while at is not None and len(kept) < LONGEST_TRAIL // 2 and (most := most - len(at.keys)) >= 0:
            kept.append(at)
            at = at.before
        # Where it is cut there is a version still, of which it is known what changed since.
        found = Trail(version=object() if at is None else at.version)
        for one in reversed(kept):
            found = Trail(one.keys, found, found.length + 1, found.touched + len(one.keys), one.version)
        return found

    def since(self, earlier: Trail) -> set[bytes] | None:
        """The keys changed since then; None where that is not known any more."""
        found: set[bytes] = set()
        at: Trail | None = self
        while at is not None and at.version is not earlier.version:
            found.update(at.keys)
            at = at.before
        return None if at is None else found


def _nothing() -> Map[Any, Any]:
    return Map()


@dataclass(frozen=True, slots=True, eq=False)
class KeyedState:
    """`entries` are encoded keys with when they are due and their encoded state, see `entry`. `slots`, where keys that are due are found,
    are there once `width` was said: a slot holds the keys that are due in so many microseconds, its end included."""

    entries: Map[bytes, bytes] = field(default_factory=_nothing)
    digest: int = 0
    width: int | None = None
    slots: Map[int, Map[bytes, None]] = field(default_factory=_nothing)
    trail: Trail = field(default_factory=Trail, repr=False)

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, key: bytes) -> bytes | None:
        return self.entries.get(key)

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """In no order: to sort a million keys would keep all other threads of the process from running for a second."""
        return iter(self.entries.items())

    def updated(self, changes: Changes) -> KeyedState:
        digest, slots = self.digest, self.slots
        changed: list[bytes] = []
        with self.entries.mutate() as entries:
            for key, now in changes.items():
                before = entries.get(key)
                if before == now:
                    continue
                changed.append(key)
                digest -= 0 if before is None else hashed(key, before)
                if now is None:
                    del entries[key]
                else:
                    digest += hashed(key, now)
                    entries[key] = now
                if self.width is not None:
                    slots = _moved(slots, key, self._slot(before), self._slot(now))
            after = entries.finish()
        if not changed:
            return self
        trail = self.trail.followed_by(tuple(changed), len(after))
        return KeyedState(after, digest % _MODULUS, self.width, slots, trail)

    def changes_since(self, earlier: KeyedState) -> dict[bytes, bytes | None] | None:
        """What makes this of an earlier version; None where that is not known any more."""
        keys = self.trail.since(earlier.trail)
        return None if keys is None else {key: self.entries.get(key) for key in sorted(keys)}

    # What is due

    def indexed(self, width: int) -> KeyedState:
        """The same, for ranges that begin and end at multiples of `width`."""
        if self.width == width:
            return self
        slots: dict[int, dict[bytes, None]] = {}
        for key, one in self.entries.items():
            due = due_of(one)
            if due is not None:
                slots.setdefault((due - 1) // width, {})[key] = None
        return replace(self, width=width, slots=Map({slot: Map(keys) for slot, keys in slots.items()}))

    def _slot(self, one: bytes | None) -> int | None:
        due = None if one is None else due_of(one)
        assert self.width is not None
        return None if due is None else (due - 1) // self.width

    def due(self, lo: int, hi: int) -> Iterator[bytes]:
        """Keys that are due in (lo, hi]; before that nothing can be, since lo was passed."""
        if not self.slots:
            return
        assert self.width is not None and hi % self.width == 0
        slots: Iterable[int] = range(lo // self.width, hi // self.width)
        if len(self.slots) < len(range(lo // self.width, hi // self.width)):
            slots = [slot for slot in self.slots if slot < hi // self.width]
        for slot in slots:
            yield from self.slots.get(slot, ())

    @property
    def next_due(self) -> int | None:
        """The beginning of the first slot that has a key."""
        assert self.width is not None
        return min(self.slots) * self.width if self.slots else None


def _moved(
    slots: Map[int, Map[bytes, None]], key: bytes, old: int | None, new: int | None
) -> Map[int, Map[bytes, None]]:
    if old == new:
        return slots
    if old is not None:
        left = slots[old].delete(key)
        slots = slots.set(old, left) if left else slots.delete(old)
    if new is not None:
        slots = slots.set(new, slots.get(new, _nothing()).set(key, None))
    return slots


def state_of(entries: Iterable[tuple[bytes, bytes]]) -> KeyedState:
    """With these entries, whatever led to them."""
    digest = 0
    # One by one: other threads run in between.
    with _nothing().mutate() as known:
        for key, one in entries:
            assert key not in known
            known[key] = one
            digest += hashed(key, one)
        found = known.finish()
    return KeyedState(found, digest % _MODULUS)


def entry(due: int | None, state: Any) -> bytes | None:
    """What is stored of a key; None for one that is to be forgotten."""
    return None if state is None else encoded(due) + encoded(state)


def due_of(one: bytes) -> int | None:
    found: int | None = first_of(one)[0]
    return found


def content_of(one: bytes) -> Any:
    return decoded(one[first_of(one)[1] :])


def hashed(key: bytes, one: bytes) -> int:
    # The length of the key tells where it ends.
    together = len(key).to_bytes(4, "big") + key + one
    return int.from_bytes(blake2b(together, digest_size=_DIGEST).digest(), "big")
