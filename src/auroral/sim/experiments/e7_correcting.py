"""E7: ways to correct: all of a node again, only what is affected, and without what did not change."""

from __future__ import annotations

from auroral.sim.experiments.running import LONG_JOBS, Costs, slope, straightness
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement
from auroral.sim.experiments.work import BOUND, BOXES, BUCKET, FAILURE, Done, Work, done

RATE = 1_000
STATES = (0, 1_000, 2_000, 4_000)
ROWS = (5_000, 10_000, 20_000, 40_000)
"""That the failure lasts for."""
CHANGED = (0.0, 0.5, 1.0)
FULL, AFFECTED, CUT_OFF = "full recomputation", "affected only", "early cut-off"
MOMENT = (
    "a correction waits for a job of the other boxes, and how long depends on the moment more than on what it reads"
)
WAYS = {FULL: True, AFFECTED: False}
"""Whether what one box misses holds up all."""
BEHIND = {FULL: (True, False), AFFECTED: (False, False), CUT_OFF: (False, True)}
"""The same, and whether anything is cut off: on two nodes, as the first one lacks what failed and computes all of it again."""

Points = list[tuple[float, float]]


def experiment(costs: Costs) -> Experiment:
    state = {way: {s: done(Work(costs, RATE, s, as_one=one)) for s in STATES} for way, one in WAYS.items()}
    rows = {way: {n: done(Work(costs, _rate(n), as_one=one)) for n in ROWS} for way, one in WAYS.items()}
    twice = {n: done(Work(costs, _rate(n), depth=2)) for n in ROWS}
    changed = {
        way: {c: done(Work(costs, RATE, changed=c, depth=2, as_one=one, cut_off=cut)) for c in CHANGED}
        for way, (one, cut) in BEHIND.items()
    }
    by_state, by_rows = ({way: _times(each) for way, each in found.items()} for found in (state, rows))
    by_rows_twice = _times(twice)
    full, part = state[FULL][STATES[-1]], state[AFFECTED][STATES[-1]]
    half, none = changed[CUT_OFF][0.5], changed[CUT_OFF][0.0]
    all_of_half, all_of_none = changed[AFFECTED][0.5], changed[AFFECTED][0.0]
    needed = STATES[-1] + FAILURE * RATE * (1 - 1 / (2 * BOXES))
    runs = [one for found in (state, rows, changed) for each in found.values() for one in each.values()]
    runs += twice.values()
    broken = [violation for one in runs for violation in one.violations]
    statements = (
        Statement(
            "each way ends with the same output",
            f"{len(broken)} violations in {len(runs)} runs",
            not broken,
            "jobs take longer than buckets here, and the node does not catch up",
        ),
        Statement(
            "each way takes longer in proportion to the state S",
            _lines(by_state),
            all(slope(points) > 0 and straightness(points) > 0.95 for points in by_state.values()),
            MOMENT,
        ),
        Statement(
            "each way takes longer in proportion to the rows of the failure",
            _lines(by_rows),
            all(slope(points) > 0 and straightness(points) > 0.95 for points in by_rows.values()),
            MOMENT,
        ),
        Statement(
            "one way is the fastest in every configuration (checkpoint/redo; here: affected only)",
            _margins(by_state, by_rows),
            all(a < f for found in (by_state, by_rows) for (_, f), (_, a) in _pairs(found)),
            "boxes that nothing holds up go on with jobs of their own, and a node runs one that makes results final at a time: with few rows, "
            "to wait for it takes longer than what is saved",
        ),
        Statement(
            "two boxes in series steepen the curve: their streams have twice the rows",
            f"two nodes, affected only: {_each(by_rows_twice)}, {_steeper(slope(by_rows_twice), slope(by_rows[AFFECTED]))}",
            slope(by_rows_twice) > 1.2 * slope(by_rows[AFFECTED]),
            LONG_JOBS,
        ),
        Statement(
            "nothing is spent on it without failures",
            f"{sum(one.twice_before for one in runs)} buckets are computed twice before the failure",
            not any(one.twice_before for one in runs),
            LONG_JOBS,
        ),
        Statement(
            "memory is S and what came on the inputs that did not fail",
            f"{FULL}: {full.held:,} rows, where these are {needed:,.0f}; {AFFECTED}: {part.held:,}",
            abs(full.held - needed) < 0.15 * needed,
            LONG_JOBS,
        ),
        Statement(
            "boxes off the failed path compute nothing again (proposed, not built)",
            f"{part.others} buckets of other boxes, {full.others:,} with {FULL}; of the failed one {part.computed - part.others}",
            part.others == 0 < full.others,
        ),
        Statement(
            "what is right already is not sent again (thought not to be worth it)",
            f"{half.sent:,} of {half.corrected:,} rows where half of the buckets change, {none.sent:,} where none does",
            none.sent == 0 < half.sent < half.corrected,
        ),
        Statement(
            "what is right already is not computed again either",
            f"of {none.guessed_behind} buckets that the second node guessed, {none.behind} where none changes, in "
            f"{none.reconciliation:.2f} s instead of {all_of_none.reconciliation:.2f} s; {half.behind} of {half.guessed_behind} where every "
            "other one does, as one job computes all between two that differ",
            none.behind == 0 < all_of_none.behind and half.behind <= all_of_half.behind,
            LONG_JOBS,
        ),
    )
    return Experiment(
        "E7",
        "Ways to correct",
        f"A node with {BOXES} boxes of two streams each, for the table another one behind it, D = X = {BOUND:g} s, buckets of {BUCKET:g} s; one stream is silent for "
        f"{FAILURE:g} s. Undo/redo and checkpoint/redo, which were compared, are not here: nothing is restored. {FULL.capitalize()}: "
        f"a failure holds up all boxes, and all are computed again. {AFFECTED.capitalize()}: boxes that it leads to. "
        f"{CUT_OFF.capitalize()}, the protocol as it is: of these, buckets that turn out as they were guessed are confirmed, not sent; and "
        "what was guessed from nothing but such buckets is final without being computed again. Every other bucket changes in the table, "
        "where nothing else is said. Not to send rows saves no time here: a message takes as long in the simulator, however many are in it.",
        ("way", "reconciliation", "buckets computed again", "rows read again", "rows sent again", "rows held"),
        (
            _row(FULL, changed[FULL][0.5], changed[FULL][0.5].corrected),
            _row(AFFECTED, all_of_half, all_of_half.corrected),
            _row(CUT_OFF, half, half.sent),
            _row(f"{AFFECTED}, nothing changes", all_of_none, all_of_none.corrected),
            _row(f"{CUT_OFF}, nothing changes", none, none.sent),
        ),
        statements,
        (
            Plot("Reconciliation by state", "S [rows]", "time [s]", _series(by_state), _limit(STATES)),
            Plot(
                "Reconciliation by rows of the failure",
                "rows",
                "time [s]",
                (*_series(by_rows), Series(f"{AFFECTED}, two nodes", tuple(by_rows_twice))),
                _limit(ROWS),
            ),
            Plot(
                "Rows sent again",
                "share of buckets that change",
                "rows",
                tuple(
                    Series(
                        way, tuple((c, float(one.sent if way == CUT_OFF else one.corrected)) for c, one in each.items())
                    )
                    for way, each in changed.items()
                ),
            ),
            Plot(
                "Buckets computed again",
                "share of buckets that change",
                "buckets",
                tuple(
                    Series(way, tuple((c, float(one.computed)) for c, one in each.items()))
                    for way, each in changed.items()
                ),
            ),
        ),
    )


def _rate(rows: int) -> int:
    return round(rows / FAILURE)


def _times(found: dict[int, Done]) -> Points:
    return [(float(x), one.reconciliation) for x, one in found.items()]


def _pairs(found: dict[str, Points]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    return list(zip(found[FULL], found[AFFECTED], strict=True))


def _steeper(steepness: float, of_one: float) -> str:
    """Where a row costs so little that none could be measured, there is nothing to compare."""
    return f"{steepness / of_one:.1f} times that of one" if of_one else "where that of one does not rise"


def _each(points: Points) -> str:
    return f"{1e6 * slope(points):.2f} us a row, squared correlation {straightness(points):.3f}"


def _lines(found: dict[str, Points]) -> str:
    return "; ".join(f"{way}: {_each(points)}" for way, points in found.items())


def _margins(*found: dict[str, Points]) -> str:
    saved = [1 - a / f for each in found for (_, f), (_, a) in _pairs(each)]
    return f"{AFFECTED} takes between {min(saved):.0%} and {max(saved):.0%} less than {FULL}"


def _series(found: dict[str, Points]) -> tuple[Series, ...]:
    return tuple(Series(way, tuple(points)) for way, points in found.items())


def _limit(xs: tuple[int, ...]) -> tuple[tuple[float, float], ...]:
    return ((float(xs[0]), BOUND), (float(xs[-1]), BOUND))


def _row(way: str, one: Done, sent: int) -> tuple[str, ...]:
    return (way, f"{one.reconciliation:.2f} s", f"{one.computed:,}", f"{one.read:,}", f"{sent:,}", f"{one.held:,}")
