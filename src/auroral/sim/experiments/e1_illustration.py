"""E1: one node, one of three inputs is cut off for 20 s."""

from __future__ import annotations

from collections import Counter

from auroral.dpc.settings import Settings
from auroral.dpc.tuples import TupleType
from auroral.sim.experiments.running import AFTER, BEGIN, Case, Costs, run
from auroral.sim.experiments.values import Experiment, Plot, Series, Statement

BOUND, FAILURE, RATE = 3.0, 20.0, 600


def experiment(costs: Costs) -> Experiment:
    healed = BEGIN + FAILURE
    faults = f"at {BEGIN:g}s cut s0-n0a; at {healed:g}s heal s0-n0a"
    seen = run(Case(faults, healed + AFTER, Settings(bucket=0.25, bound=BOUND), costs, RATE))
    measured, usual = seen.measured, seen.measured.proc
    peak = max(one.latency for one in seen.new if one.at < healed)
    later = max(one.latency for one in seen.new if healed <= one.at < healed + 2 * BOUND)
    inside = [one for one in seen.tentative if BEGIN + 1 <= one.bucket * seen.bucket < healed - 1]
    there = sum(one.content.count for one in inside) / max(1, len(inside) * seen.rows)
    kinds = Counter(each.type for _, each in seen.tuples())
    first = min((one.at for one in seen.tentative), default=0.0)
    statements = (
        Statement(
            "stable output, then a pause with a latency of almost X",
            f"nothing tentative before {first:.1f} s; the first new result comes {peak:.2f} s after its bucket's end, X is {BOUND:g} s",
            first > BEGIN and 0.8 * BOUND < peak < BOUND + usual,
        ),
        Statement(
            "tentative results lack a third of the tuples",
            f"{1 - there:.0%} of the rows are missing in tentative buckets",
            abs(there - 2 / 3) < 0.02,
        ),
        Statement(
            "after healing UNDO, corrections, REC_DONE",
            f"{kinds[TupleType.UNDO]} UNDO, {kinds[TupleType.REC_DONE]} REC_DONE; all is stable {measured.reconciliation(healed):.2f} s after healing",
            kinds[TupleType.UNDO] == kinds[TupleType.REC_DONE] == 1 and not seen.violations,
            "a bucket that is new while the others are corrected is guessed, and has an UNDO of its own",
        ),
        Statement(
            "a second peak of latency while the single node corrects",
            f"the largest latency of new results within {2 * BOUND:g} s of healing is {later:.2f} s; usual are {usual:.2f} s",
            later > 0.5 * BOUND,
            "new buckets are computed beside the corrections, and these take little time",
        ),
    )
    rows = (
        ("largest latency of new results", f"{measured.proc_new:.2f} s"),
        ("tentative rows", f"{measured.n_tentative:,}"),
        ("from healing until all is stable", f"{measured.reconciliation(healed):.2f} s"),
    )
    points = tuple((one.at, one.latency) for one in seen.new)
    line = Series("new results", points, tuple(not one.stable for one in seen.new))
    plot = Plot("Latency of new results", "time [s]", "latency [s]", (line,), ((0.0, BOUND), (healed + AFTER, BOUND)))
    return Experiment(
        "E1",
        "A failure of one input",
        f"Three streams, {RATE} rows/s in all, merged on one node; X = {BOUND:g} s; one stream is cut off from {BEGIN:g} s to {healed:g} s.",
        ("measure", "value"),
        rows,
        statements,
        (plot,),
    )
