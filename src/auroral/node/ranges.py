"""Which stretch of stime to evaluate next, and how far back an engine must begin to know what it needs.

Only computation. Stimes are microseconds, ranges half-open, their ends multiples of the bucket interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from auroral.engine.batch import total_past
from auroral.model.boxes.apply import TypedApply
from auroral.model.boxes.base import BoxClass
from auroral.model.checking import Checked

MOST_ROWS = 2_000_000
"""Rows of one job: the memory of a step must not depend on the backlog."""
MOST_BUCKETS = 4096
MOST_CALLS = 64
"""Buckets of one job where an `apply` box is called once a bucket: each call adds to the plan."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """What is known of an input: its smallest stime so far, its boundary, and whether more can come."""

    first: int | None
    boundary: int | None
    ended: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """How a diagram may be cut into jobs. `past` is its horizon: what is older than that no result needs.

    `flush` is how far behind the end of input results may lie. `restorable` says whether the state of its folds, with
    a horizon of input before it, is enough to go on from.
    """

    bucket: int
    past: int
    flush: int = 0
    most_buckets: int = MOST_BUCKETS
    most_rows: int = MOST_ROWS
    folds: bool = False
    restorable: bool = True

    @property
    def snapshots(self) -> bool:
        """Whether there is fold state worth keeping."""
        return self.folds and self.restorable

    @staticmethod
    def of(checked: Checked) -> Limits:
        applies = [box.typed for box in checked.boxes if isinstance(box.typed, TypedApply)]
        per_bucket = any(not apply.cut_free for apply in applies)
        bucket, past = checked.diagram.bucket, total_past(checked)
        return Limits(
            bucket,
            # One more, for windows that do not begin at a bucket's start.
            ceil_to(past, bucket) + bucket,
            floor_to(past, bucket) + bucket,
            MOST_CALLS if per_bucket else MOST_BUCKETS,
            folds=checked.box_class is BoxClass.FOLD,
            restorable=not _fold_over_past_of_fold(checked),
        )


def _fold_over_past_of_fold(checked: Checked) -> bool:
    """Whether a fold reads windows or joins over another fold's results.

    Just behind a snapshot these lack what the other fold gave before it: others forget that after one horizon, but a
    fold never forgets.
    """
    # For each stream behind a fold, the longest past between the two.
    behind: dict[str, int] = {}
    for box in checked.boxes:
        before = [behind[stream] for stream in box.box.inputs if stream in behind]
        if box.typed.box_class is BoxClass.FOLD:
            if any(before):
                return True
            behind.update(dict.fromkeys(box.box.outputs, 0))
        elif before:
            behind.update(dict.fromkeys(box.box.outputs, max(before) + box.typed.past))
    return False


def floor_to(stime: int, bucket: int) -> int:
    return stime // bucket * bucket


def ceil_to(stime: int, bucket: int) -> int:
    return -(-stime // bucket) * bucket


def first_bucket(sources: Iterable[SourceSpan], bucket: int) -> int | None:
    """Where a run begins: no input can ever have a row before it. None while that is not yet known.

    An input without a boundary may still bring rows of any age. Behind its boundary it brings none.
    """
    known: list[int] = []
    for source in sources:
        if source.boundary is None and not source.ended:
            return None
        known += [stime for stime in (source.first, source.boundary) if stime is not None]
    return floor_to(min(known), bucket) if known else None


def closed_until(sources: Sequence[SourceSpan], bucket: int) -> int | None:
    """The end of the last bucket that all inputs have closed. An input that has ended closes everything.

    Once all have ended, that is the end of the last bucket of the input that reached furthest.
    """
    open_ones = [source.boundary for source in sources if not source.ended]
    if not open_ones:
        ends = [source.boundary for source in sources if source.boundary is not None]
        return ceil_to(max(ends), bucket) if ends else None
    if None in open_ones:
        return None
    return floor_to(min(boundary for boundary in open_ones if boundary is not None), bucket)


@dataclass(frozen=True, slots=True)
class Step:
    """The next thing to do: evaluate [lo, hi), or, with `skip`, pass over it, since nothing can come of it."""

    lo: int
    hi: int
    skip: bool = False


RowsBetween = Callable[[int, int], int]
NextRow = Callable[[int], int | None]
NextDue = Callable[[], int | None]


def next_step(
    lo: int, limit: int, limits: Limits, rows: RowsBetween, next_row: NextRow, due: NextDue = lambda: None
) -> Step | None:
    """The step from `lo` on, towards `limit`; None where nothing is closed yet.

    `rows(lo, hi)` says how many rows a range has, or at most that many more; `next_row(stime)` gives the
    stime of the first row at or after `stime`. From `due()` on, folds may give something though no row comes.
    """
    if lo >= limit:
        return None
    if limit - lo > limits.most_buckets * limits.bucket:
        # Years may lie between two inputs. Where one horizon before it is empty, an empty range gives nothing: not even
        # users' functions, which are not called without a row in their horizon.
        found = next_row(lo - limits.past)
        reach = min([limit, *(floor_to(stime, limits.bucket) for stime in (found, due()) if stime is not None)])
        if reach > lo:
            return Step(lo, reach, skip=True)
    buckets = min((limit - lo) // limits.bucket, limits.most_buckets)
    while buckets > 1 and rows(lo, lo + buckets * limits.bucket) > limits.most_rows:
        buckets //= 2
    return Step(lo, lo + buckets * limits.bucket)


@dataclass(frozen=True, slots=True)
class Rebuild:
    """How to bring a new engine to `frontier`: evaluate from `begin` on without giving anything out.

    With a snapshot, the fold state at `snapshot` is put in when that stime is reached.
    """

    begin: int
    frontier: int
    snapshot: int | None = None


def rebuild(
    start: int, frontier: int, limits: Limits, snapshots: Iterable[int], kept_from: int | None = None
) -> Rebuild:
    """From where an engine that knows nothing must begin, so that it is right from `frontier` on.

    Boxes before a fold need one horizon before the snapshot. Boxes behind it saw wrong results of it before
    the snapshot, and need one horizon after it to have forgotten them. Rows before `kept_from` may have been
    pruned: a snapshot that needs them is passed over.
    """
    if not limits.folds:
        return Rebuild(max(start, frontier - limits.past), frontier)
    usable = [stime for stime in snapshots if limits.snapshots and start <= stime <= frontier - limits.past]
    if kept_from is not None:
        usable = [stime for stime in usable if max(start, stime - limits.past) >= kept_from]
    if not usable:
        return Rebuild(start, frontier)
    newest = max(usable)
    return Rebuild(max(start, newest - limits.past), frontier, newest)


def piece_start(start: int, since: int, limits: Limits) -> tuple[int, int]:
    """Where folds must take up their state, and where rows must begin, for results that are right from `since` on.

    By the same reasoning as `rebuild`. Diagrams without folds take up nothing, and need one horizon only.
    """
    if not limits.folds:
        return since, max(start, since - limits.past)
    at = max(start, since - limits.past)
    return at, max(start, at - limits.past)
