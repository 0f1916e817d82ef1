"""Figure 4-7 of Balazinska's thesis: what the boundaries of three streams let a run put in order for good."""

from pathlib import Path

import pyarrow as pa

import auroral
from auroral.model.checking import Checked
from auroral.node.runner import Runner
from node.running import PassOn, runner_in

STREAMS = ("s1", "s2", "s3")


def three_streams() -> Checked:
    """With buckets of a microsecond, the boundary of a stream is the stime of its newest row."""
    d = auroral.diagram("d", bucket="1us")
    first, *others = (d.input(stream, "ts long, v long", stime="ts", unit="us") for stream in STREAMS)
    first.union("out", *others).output()
    return d.check()


def after(folder: Path, *boundaries: int | None) -> Runner:
    """The run of this folder, gone on with until it has done what these boundaries allow. None: nothing came."""
    runner = runner_in(folder, three_streams(), PassOn())
    for stream, boundary in zip(STREAMS, boundaries, strict=True):
        if boundary is not None:
            runner.sources[stream].take(pa.table({"ts": [boundary], "v": [0]}), 0)
    runner.request_stop()
    runner.run()
    return runner


def given_out(runner: Runner) -> list[int]:
    stimes: list[int] = runner.outputs.logs["out"].read().column(0).to_pylist()
    return stimes


def test_figure_4_7_what_boundaries_let_us_order(tmp_path: Path) -> None:
    """D17: the second stream falls silent after its boundary at 27."""
    moments = [(20, 22, 23), (26, 25, 28), (30, 27, None), (35, None, 33)]
    expected = {20: [], 25: [20, 22, 23], 27: [20, 22, 23, 25, 26]}
    found = []
    for moment in moments:
        runner = after(tmp_path / "run", *moment)
        assert runner.account.frontier is not None
        found.append(runner.account.frontier)
        assert given_out(runner) == expected[found[-1]], "tuples below the smallest boundary, in order, and no other"
    assert found == [20, 25, 27, 27]


def test_nothing_can_be_ordered_before_every_stream_has_a_boundary(tmp_path: Path) -> None:
    runner = after(tmp_path / "run", 20, None, 30)
    assert (runner.account.frontier, given_out(runner)) == (None, [])
