"""What a fold is: a box that depends on all of the past, one key at a time.

A fold is plain Python and knows nothing of Spark, ranges or other keys. For each key it is handed the state that the key had, then the
key's rows of all input ports in processing order, and between them what is due. How ranges are cut can make no difference: `folded` calls
the boundary for each time that is due, and for no other, and states pass through `statecodec` wherever a range ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

Row = tuple[Any, ...]


class Result(NamedTuple):
    """A row that a fold gives out on one of its output ports. `order` is the row's order key behind the stime: as many values as the
    output's `StreamType.order` has types."""

    stime: int
    order: Row
    values: Row
    port: int = 0


class LeftOut(NamedTuple):
    """A row that a fold leaves out, for the ledger. The stime is that of the row, or of the boundary that left it out."""

    stime: int
    reason: str


Given = Result | LeftOut


class Arrived(NamedTuple):
    """A row of an input port. `values` are those that the box asks of the port's rows, see `foldbox.FoldInput`."""

    port: int
    stime: int
    order: Row
    values: Row


class Fold(Protocol):
    """One object does for all keys, one after the other. It is copied to Spark's workers, and must not keep anything but the state of the
    key at hand: `start` sets all of it."""

    reasons: ClassVar[tuple[str, ...]]
    """All that its `LeftOut` may have."""

    def start(self, key: Row, state: Any) -> None:
        """A key follows. `state` is None where it has none, else equal to what `state()` gave; the fold may change it."""

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        """Rows come in the order of stime, port and the port's order key. Results have stimes from the row's on."""
        ...

    def due(self) -> int | None:
        """The earliest stime at which something happens to this key though no row comes: a window ends, time is up."""
        ...

    def boundary(self, stime: int) -> Iterator[Given]:
        """No row below `stime` follows. Called exactly when `stime` is `due()`: before the first row at or behind it. What is due next must
        be later. Results belong before the boundary: those of a window that ends at `stime` have `stime - 1`."""
        ...

    def state(self) -> Any:
        """Plain values (see `statecodec`); None for a key that is as if it had never been."""
        ...


class Untimed:
    """For folds that only rows move."""

    reasons: ClassVar[tuple[str, ...]] = ()

    def due(self) -> int | None:
        return None

    def boundary(self, stime: int) -> Iterator[Given]:
        raise AssertionError(f"nothing was due at {stime}")


def folded(fold: Fold, key: Row, state: Any, rows: Iterable[Arrived], hi: int) -> Iterator[Given]:
    """What one key gives in a range that ends at `hi`; afterwards the fold has its state there."""
    fold.start(key, state)
    for port, stime, order, values in rows:
        yield from passed(fold, stime)
        yield from fold.row(port, stime, order, values)
    yield from passed(fold, hi)


def passed(fold: Fold, stime: int) -> Iterator[Given]:
    """All that is due up to `stime`."""
    while (due := fold.due()) is not None and due <= stime:
        yield from fold.boundary(due)
        after = fold.due()
        assert after is None or after > due, f"{type(fold).__name__}: still due at {after}, behind the boundary {due}"
