"""Running diagrams from Python: `run`, `batch`, `verify` and `prune`.

with auroral.run(diagram) as app:
    app.push("flows", [{"ts": "2026-03-01T12:00:00Z", "bytes": 40}])
    app.close("flows")
    for event in app.subscribe("out"):
        ...
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from auroral.edge.pacing import InputSpecError, absolute
from auroral.engine.footprint import footprint_of
from auroral.engine.session import DEFAULT_MASTER, cancel_job_group, set_job_group, start_session
from auroral.model.boxes.local_clock import local_clocks
from auroral.model.builder import DiagramBuilder, check
from auroral.model.checking import Checked
from auroral.model.diagram import Diagram
from auroral.node.committing import check_new
from auroral.node.evaluator import EngineEvaluator, Evaluator
from auroral.node.feeds import PUSHED, Feed, Given, check_input, described, make_feed, refuse_unknown
from auroral.node.fleet.embedded import EmbeddedSource, SourceEnded
from auroral.node.handle import App, AppError
from auroral.node.jobwatch import JobWatch
from auroral.node.localclock import FED, Reached, clock_feed
from auroral.node.pruning import Pruned, prune_folder
from auroral.node.report import Report
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from auroral.node.verify import verify_folder
from auroral.node.whole import Batch, run_whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["App", "AppError", "Batch", "Pruned", "Report", "SourceEnded", "batch", "prune", "run", "source", "verify"]

Inputs = Mapping[str, Given]
Outputs = Mapping[str, str | os.PathLike[str]]


def run(
    diagram: Diagram | DiagramBuilder | Checked,
    *,
    inputs: Inputs | None = None,
    outputs: Outputs | None = None,
    folder: str | os.PathLike[str] | None = None,
    master: str = DEFAULT_MASTER,
    session: SparkSession | None = None,
    flush: bool = False,
) -> App:
    """Start a run, or go on with the one in `folder`. Returns at once; the work is done in threads.

    `inputs` are paths (`"flows.csv"`, `"flows.csv@10x"`, `"-"`), tables or iterables of rows, by stream; streams
    that are not among them get their rows from `App.push`. To go on with a run, inputs must begin at the beginning
    again: rows that the run has already are passed over. `outputs` are paths by stream. Without `folder` the run is
    kept in a temporary one, which goes with the App. With `flush`, windows that are still open when all input has
    ended are closed too.

    When a run is resumed, each input must be the one it read before, from its beginning on: the rows that are in the
    log are passed over, also of an iterator. To hand over new rows only, push them.

    A run folder holds a pickle of the diagram, which can run any code: go on only with folders you trust.
    """
    checked = _checked(diagram)
    inputs = dict(inputs or {})
    wanted = {stream: absolute(os.fspath(path)) for stream, path in (outputs or {}).items()}
    _check_names(checked, inputs, wanted)
    if folder is None or not (Path(folder) / "run.json").exists():
        for source in checked.diagram.inputs:
            if source.stream in inputs:
                check_input(source, inputs[source.stream])
        check_new(wanted.values())
    clocks = [stream for stream in local_clocks(checked.diagram) if stream not in inputs]
    named = {i.stream: FED if i.stream in clocks else PUSHED for i in checked.diagram.inputs}
    named |= {stream: described(given) for stream, given in inputs.items()}
    jobs = JobWatch(checked.diagram.bucket)
    with ExitStack() as undo:
        # A run that could not be set up leaves nothing behind that a mended one would stumble over.
        place = _place(folder, undo)
        claimed = RunFolder.claim(place, checked, named, wanted, flush)
        undo.callback(_give_up, claimed)

        def evaluator() -> Evaluator:
            used = session or start_session(master)
            # Where a job failed, tasks of it may still be running.
            cancel_job_group(used, jobs.group)
            set_job_group(used, jobs.group)
            engine = EngineEvaluator(used, checked, claimed.empty_cache())
            return jobs.over(engine, lambda: cancel_job_group(used, jobs.group), footprint_of(used))

        runner = Runner(claimed, evaluator, wanted)
        undo.callback(runner.close)
        undo.callback(runner.outputs.discard_empty)
        feeds = [make_feed(runner.sources[stream], given, runner.clock) for stream, given in inputs.items()]
        feeds += [_clock_feed(runner, stream, clocks) for stream in clocks]
        undo.pop_all()
    return App(runner, feeds, temporary=folder is None, jobs=jobs)


def _clock_feed(runner: Runner, stream: str, clocks: Sequence[str]) -> Feed:
    others = [source for name, source in runner.sources.items() if name not in clocks]

    def reached() -> Reached:
        ended = all(source.state.ended for source in others)
        known = [source.state.boundary for source in others if source.state.boundary is not None]
        return Reached(max(known, default=None), ended)

    return clock_feed(runner.sources[stream], reached, runner.clock, runner.limits.bucket)


def batch(
    diagram: Diagram | DiagramBuilder | Checked,
    inputs: Inputs,
    outputs: Outputs | None = None,
    *,
    master: str = DEFAULT_MASTER,
    session: SparkSession | None = None,
    flush: bool = False,
) -> Batch:
    """The whole input as one plain Spark batch: no buckets, no slices. What a run gives must equal it.

    Rows are stamped as a run stamps them. `outputs` are written in the formats that a run writes.
    """
    checked = _checked(diagram)
    wanted = {stream: os.fspath(path) for stream, path in (outputs or {}).items()}
    _check_names(checked, inputs, wanted)
    missing = [i.stream for i in checked.diagram.inputs if i.stream not in inputs]
    if missing:
        raise InputSpecError(
            f"a batch run needs all of its input, and there is none for {', '.join(map(repr, missing))}\n"
            f"    next: add inputs for {', '.join(missing)}"
        )
    return run_whole(checked, inputs, wanted, lambda: session or start_session(master), flush)


def verify(
    folder: str | os.PathLike[str],
    session: SparkSession | None = None,
    *,
    master: str = DEFAULT_MASTER,
    since_last: bool = False,
) -> Report:
    """Whether a run's stable output equals one batch run over the rows that it logged, and its files that output.

    With `since_last`, only what is new since the run was last found equal is compared; also where older rows were
    pruned. The run folder's pickle is loaded, which can run any code: verify only folders that you trust.
    """
    path = Path(folder)
    # Before Spark is started for nothing.
    RunFolder.look(path)
    return verify_folder(session or start_session(master), path, since_last)


def prune(folder: str | os.PathLike[str]) -> Pruned:
    """Remove logged rows that neither resuming the run nor verifying what is still to come needs.

    Only what lies below the last verification goes; outputs stay. The run folder's pickle is loaded, which can run any
    code: prune only folders that you trust.
    """
    return prune_folder(Path(folder))


def _checked(diagram: Diagram | DiagramBuilder | Checked) -> Checked:
    return (diagram if isinstance(diagram, Checked) else check(diagram)).runnable()


def _check_names(checked: Checked, inputs: Inputs, outputs: Mapping[str, str]) -> None:
    refuse_unknown("input", inputs, [i.stream for i in checked.diagram.inputs])
    refuse_unknown("output", outputs, [o.stream for o in checked.diagram.outputs])


def _place(folder: str | os.PathLike[str] | None, undo: ExitStack) -> Path:
    if folder is not None:
        return Path(folder)
    place = Path(tempfile.mkdtemp(prefix="auroral-run-"))
    undo.callback(shutil.rmtree, place, ignore_errors=True)
    return place


def _give_up(claimed: RunFolder) -> None:
    claimed.close()
    if not claimed.resumed:
        shutil.rmtree(claimed.path, ignore_errors=True)


def source(folder: str | os.PathLike[str], stream: str) -> EmbeddedSource:
    """The source of an input of the deployment in `folder`, within this program: of one that was begun with `--input STREAM=program`.

    with auroral.source("live", "orders") as orders:
        orders.push([{"sku": "a", "amount": 2.5}])
    """
    return EmbeddedSource(folder, stream)
