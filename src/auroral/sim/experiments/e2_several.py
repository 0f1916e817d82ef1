"""E2: two failures, overlapping, and one that begins while the other is being corrected."""

from __future__ import annotations

from auroral.dpc.settings import Settings
from auroral.dpc.tuples import TupleType
from auroral.sim.experiments.running import AFTER, Case, Costs, Seen, run
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement

BOUND, RATE = 3.0, 600


def experiment(costs: Costs) -> Experiment:
    ends = {"overlapping": ((10.0, 25.0), (20.0, 35.0)), "during recovery": ((10.0, 20.0), (20.0, 30.0))}
    found = {name: _run(times, costs) for name, times in ends.items()}
    over, during = found["overlapping"], found["during recovery"]
    (_, first_end), (second_begin, second_end) = ends["overlapping"]
    early = _corrected(over, first_end, second_end)
    pieces = {name: _corrected(during, *span) for name, span in (("first", (20.0, 30.0)), ("second", (30.0, 45.0)))}
    done = [at for at, each in during.tuples() if each.type is TupleType.REC_DONE]
    statements = (
        Statement(
            "every tentative tuple is corrected and no stable tuple doubled",
            f"{len(over.violations) + len(during.violations)} violations in both runs",
            not over.violations and not during.violations,
        ),
        Statement(
            "overlapping: nothing special when the first failure heals; corrections when all have healed",
            f"{len(early)} buckets are made stable while the second failure lasts, all from before its begin at {second_begin:g} s",
            not early,
            "corrections go bucket by bucket: what all inputs have, is final at once and not when everything has healed",
        ),
        Statement(
            "a failure while the other is being corrected: corrections end with a REC_DONE, then tentative results again",
            f"{len(pieces['first'])} buckets of the first failure are corrected before the second heals; "
            f"REC_DONE at {' and '.join(f'{at:.2f}' for at in done)} s; "
            f"{sum(1 for one in during.tentative if one.at > 20.0)} tentative buckets follow the first",
            bool(pieces["first"]) and len(done) == 2 and any(one.at > done[0] for one in during.tentative),
            "corrections that last into the next failure end with one REC_DONE for both",
        ),
        Statement(
            "after that failure heals only its own tentative tuples are corrected",
            f"{len(pieces['first'] & pieces['second'])} buckets are corrected twice",
            bool(pieces["second"]) and not pieces["first"] & pieces["second"],
        ),
    )
    rows = tuple(
        (name, f"{seen.measured.proc_new:.2f} s", f"{seen.measured.n_tentative:,}", str(len(seen.violations)))
        for name, seen in found.items()
    )
    return Experiment(
        "E2",
        "Two failures",
        f"As E1; the first failure is of stream 1, the second of stream 3. Overlapping: {ends['overlapping']}; "
        f"during recovery: {ends['during recovery']} (seconds).",
        ("case", "largest latency of new results", "tentative rows", "violations"),
        rows,
        statements,
        tuple(_plot(name, seen) for name, seen in found.items()),
    )


def _run(times: tuple[tuple[float, float], tuple[float, float]], costs: Costs) -> Seen:
    (a, b), (c, d) = times
    faults = f"at {a:g}s silence s0; at {b:g}s resume s0; at {c:g}s silence s2; at {d:g}s resume s2"
    return run(Case(faults, d + AFTER, Settings(bucket=0.25, bound=BOUND), costs, RATE))


def _corrected(seen: Seen, since: float, until: float) -> set[int]:
    """Buckets that had been tentative and became stable between these times."""
    tentative = {one.bucket for one in seen.tentative}
    return {one.bucket for one in seen.deliveries if one.stable and since <= one.at < until and one.bucket in tentative}


def _plot(name: str, seen: Seen) -> Plot:
    points = [(one.at, float(one.bucket), not one.stable) for one in seen.deliveries]
    line = Series("buckets", tuple((x, y) for x, y, _ in points), tuple(t for _, _, t in points))
    return Plot(f"Output, {name}", "time [s]", "bucket", (line,))
