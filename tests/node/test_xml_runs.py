"""Borealis files from end to end: loaded, run on Spark over files, compared with the reference, and verified.

One file for each box type that runs, and for ways in which they are put together; control streams are outputs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import auroral
from auroral.model import aggregates
from auroral.model.diagram import Diagram, Stamp
from auroral.model.expression import functions
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row
from model.xml.compose import AGGREGATE, JOIN, SUNION, box, diagram, without

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
S = 1_000_000


def mapped(**columns: str) -> dict[str, str]:
    """The parameters of a map."""
    found = {}
    for number, (name, expression) in enumerate(columns.items()):
        found |= {f"expression.{number}": expression, f"output-field-name.{number}": name}
    return found


def mapped_as(values: str, **columns: str) -> dict[str, str]:
    return {name.replace("expression", values, 1): value for name, value in mapped(**columns).items()}


def accessing(type_name: str, parameters: dict[str, str], ins: list[str], outs: list[str], name: str) -> str:
    """A box of the table."""
    return box(type_name, parameters, ins, outs, name).replace("</box>", '<access table="SEEN"/></box>')


def outputs(*streams: str) -> str:
    return "".join(f'<output stream="{stream}"/>' for stream in streams)


ROWS = {
    "a": [(t, f"k{t % 3}", t * 0.5) for t in range(40)],
    "b": [(t, f"k{t % 4}", -1.0 * t) for t in range(1, 40, 2)],
}
INDEPENDENT = {**AGGREGATE, "independent-window-alignment": "1", "group-by": "K"}
TUPLES = {**AGGREGATE, "window-size-by": "TUPLES", "window-size": "5", "advance": "3", "group-by": "k"}
BY_BUCKET = {**SUNION, "interval": "1000"}
SERIALIZED = box("sunion", {**BY_BUCKET, "max-delay.1": "500"}, ["a", "b"], ["c_in", "both"], "serialized")
SPLIT = box("sunion", {**BY_BUCKET, "max-delay.1": "500"}, ["a", "b"], ["c_in", "left", "right"], "split")
AURORA = {
    **without(JOIN, "left-buffer-size", "right-buffer-size"),
    "down-size": "3",
    "up-size": "2",
    "out-field.0": "left.T",
    "out-field-name.0": "T",
    "out-field.1": "Right.V + left.v",
    "out-field-name.1": "S",
}
CASES = {"expression.0": "V > 9", "expression.1": "K = 'k1'", "pass-on-false-port": "1"}
DROP = {"drop_rate": "0.5", "max_batch_size": "1"}
WINDOWS = {"window-size": "10", "window-slide": "5", "window-size-by": "VALUES", "order-by": "FIELD", "group-by": "k"}

FILES: Mapping[str, tuple[str, ...]] = {
    "boxes of single rows": (
        box("map", mapped(T="T", K="K", V="if V > 5.0 then int(V) % 3 else 0 - 1"), ["a"], ["Mapped"], "map"),
        box("filter", CASES, ["a"], ["high", "k1", "others"], "filter"),
        box("union", {}, ["a", "b"], ["united"], "union"),
        box("delay", {"delay-ms": "1"}, ["a"], ["delayed"], "delay"),
        box("random_drop", DROP, ["a"], ["kept"], "drop"),
        outputs("Mapped", "high", "k1", "others", "united", "delayed", "kept"),
    ),
    "sunion and soutput": (
        SERIALIZED,
        box("aggregate", INDEPENDENT, ["both"], ["counted"], "counts"),
        box("soutput", {}, ["counted"], ["c_out", "out"], "emit"),
        outputs("out"),
        '<output stream="c_in" schema="none"/><output stream="c_out" schema="none"/>',
    ),
    "windows from first rows, and windows that are dropped": (
        box("aggregate", {**AGGREGATE, "group-by": "k", "aggregate-function.1": "max(V)"}, ["a"], ["first"], "first"),
        box("window_drop", {**DROP, **WINDOWS, "order-on-field": "t"}, ["a"], ["kept"], "shed"),
        box("aggregate", INDEPENDENT, ["kept"], ["counted"], "counts"),
        outputs("first", "kept", "counted"),
    ),
    "joins": (
        box("join", JOIN, ["a", "b"], ["joined"], "join"),
        box("aurorajoin", AURORA, ["a", "b"], ["aurora"], "aurora"),
        SPLIT,
        box("sjoin", JOIN, ["left", "right"], ["serialized"], "sjoin"),
        outputs("joined", "aurora", "serialized", "c_in"),
    ),
    "windows and a join of an input with itself, whose field they are all on": (
        box("aggregate", INDEPENDENT, ["a"], ["of_a"], "short"),
        box("aggregate", {**INDEPENDENT, "window-size": "20", "advance": "20"}, ["a"], ["longer"], "long"),
        box("join", {**JOIN, "predicate": "left.k = right.k and left.t < right.t"}, ["a", "a"], ["later"], "itself"),
        outputs("of_a", "longer", "later"),
    ),
    "aggregates, filtered, joined on their windows": (
        box("aggregate", INDEPENDENT, ["a"], ["of_a"], "count_a"),
        box("filter", {"expression.0": "agg_0 > 1"}, ["of_a"], ["many"], "busy"),
        box("aggregate", INDEPENDENT, ["b"], ["of_b"], "count_b"),
        box("join", {**JOIN, "left-buffer-size": "0", "right-buffer-size": "0"}, ["many", "of_b"], ["out"], "both"),
        outputs("out"),
    ),
    "windows over pairs, by a map of their stime": (
        box("join", {**JOIN, "out-field.0": "left.k"}, ["a", "b"], ["pairs"], "pairs"),
        box("map", mapped(At="stime"), ["pairs"], ["timed"], "timed"),
        box(
            "aggregate",
            {
                **without(INDEPENDENT, "group-by"),
                "order-on-field": "At",
                "window-size": "10000000",
                "advance": "5000000",
            },
            ["timed"],
            ["out"],
            "counts",
        ),
        outputs("out"),
    ),
    "windows of rows and of values, with slack and timeouts": (
        box("aggregate", {**TUPLES, "order-by": "TUPLENUM", "timeout": "4"}, ["a"], ["counted"], "rows"),
        box(
            "aggregate", {**TUPLES, "order-by": "FIELD", "order-on-field": "v", "slack": "2"}, ["a"], ["low"], "ordered"
        ),
        box(
            "aggregate",
            {**INDEPENDENT, "order-on-field": "V", "slack": "1", "window-size": "2.5", "advance": "2.5"},
            ["a"],
            ["far"],
            "v",
        ),
        box("aggregate", {**AGGREGATE, "order-by": "TUPLENUM", "timeout": "7"}, ["a"], ["arrival"], "arrival"),
        outputs("counted", "low", "far", "arrival"),
    ),
    "joins with buffers, and sides that do not look": (
        box("join", {**JOIN, "left-order-by": "TUPLES", "right-order-by": "TUPLES"}, ["a", "b"], ["last"], "last"),
        box("join", {**JOIN, "left-order-on-field": "v", "right-order-by": "TUPLES"}, ["a", "b"], ["near"], "near"),
        box("join", {**JOIN, "timeout": "2"}, ["a", "b"], ["soon"], "soon"),
        box("sjoin", {**JOIN, "leftjoin": "false"}, ["a", "b"], ["found"], "found"),
        box("joinstatic", {"predicate": "left.k = right.k", "out-field.0": "right.V"}, ["a", "b"], ["kept"], "kept"),
        outputs("last", "near", "soon", "found", "kept"),
    ),
    "rows that wait": (
        box("bsort", {"order-on": "V", "slack": "3", "group-by": "K"}, ["b"], ["sorted"], "bsort"),
        box("wsort", {"order-on": "V", "timeout": "5"}, ["a"], ["timed"], "wsort"),
        box("waitfor", {"predicate": "buffered.K = enabler.K", "timeout": "3"}, ["a", "b"], ["let_go"], "waitfor"),
        box(
            "resample", {"out-field.0": "V", "out-field-name.0": "W", "window-size": "2"}, ["a", "b"], ["w"], "resample"
        ),
        box("xsection", {"aggregate-function.0": "sum(V)", "group-by": "K"}, ["sorted"], ["section"], "xsection"),
        box("combine", {"key-field": "K", "expression.0": "a.T + b.T"}, ["a", "b"], ["both"], "combine"),
        box(
            "lrwaitfor",
            {"key-field": "T", "group-by": "K", "start-key-value": "3"},
            ["a", "b"],
            ["as_far"],
            "lrwaitfor",
        ),
        outputs("sorted", "timed", "let_go", "w", "section", "both", "as_far"),
    ),
    "a table, and locks": (
        '<query name="bank"><table name="Seen" schema="row"><key field="K"/><index field="T"/>',
        '<parameter name="create" value="1"/><parameter name="changes" value="Log"/></table>',
        accessing("insert", {"sql": "insert into seen values (INPUT.T, input.K, input.V)"}, ["a"], [], "put"),
        accessing("exists", {"sql": "select * from seen where k = input.k"}, ["b"], ["known", "unknown"], "known"),
        box("filter", {"expression.0": "v < -3"}, ["known"], ["low"], "low"),
        accessing(
            "update",
            {
                "sql": "update seen set v = seen.v + Input.V where seen.k == input.k",
                **mapped_as("output-expression", K="new.K", Before="old.V", After="new.V"),
            },
            ["low"],
            ["changed"],
            "add",
        ),
        accessing(
            "select",
            {
                "sql": "select * from seen where T = input.t - 1 and seen.v > 5",
                "pass-on-no-results": "1",
                "pass-result-sizes": "1",
            },
            ["b"],
            ["found", "missed", "sizes"],
            "look",
        ),
        accessing(
            "delete",
            {"sql": "delete from seen where k = input.k and v < -5", "pass-deletions": "1", "pass-input": "1"},
            ["changed"],
            ["gone", "asked"],
            "drop",
        ),
        box("lock", {"lockset": "L", "key": "K"}, ["a"], ["held"], "lock"),
        box("unlock", {"lockset": "L", "key": "K"}, ["b"], ["freed"], "unlock"),
        "</query>",
        outputs("unknown", "changed", "found", "missed", "sizes", "gone", "asked", "held", "freed", "log"),
    ),
    "functions of Borealis' users": (
        box("map", mapped(T="T", M="LRSecToMin(T)"), ["a"], ["x"], "minutes"),
        box(
            "aggregate",
            {**without(INDEPENDENT, "group-by"), "aggregate-function.0": "FidSum(M)"},
            ["x"],
            ["out"],
            "sums",
        ),
        outputs("out"),
    ),
}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_default", functions.default_functions())
    monkeypatch.setitem(aggregates._registered, "fidsum", None)  # type: ignore[arg-type]  # so that it is gone afterwards
    auroral.register_function("LRSecToMin", lambda sec: None if sec is None else sec // 6, "int", "int")
    auroral.aggregate_function("FidSum", init=lambda: 0, incr=lambda s, m: s + m, final=lambda s: s, returns="long")


def written(folder: Path) -> dict[str, Path]:
    """The rows as files whose columns are in another case than the diagram's fields."""
    found = {stream: folder / f"{stream}.csv" for stream in ROWS}
    for stream, rows in ROWS.items():
        found[stream].write_text("\n".join(["T,K,V", *(",".join(map(str, row)) for row in rows)]))
    return found


def loaded(text: str) -> Diagram:
    """The diagram, whose inputs take their stime from T, be it that windows ask for it or that it is said."""
    silent = [given.stream for given in auroral.load(text).inputs if given.stamp == Stamp()]
    return auroral.load(text, stime=dict.fromkeys(silent, "T"))


@pytest.mark.parametrize("name", FILES)
def test_a_file_runs_as_the_reference_and_the_batch_run_do(spark: "SparkSession", tmp_path: Path, name: str) -> None:
    checked = auroral.check(loaded(diagram(*FILES[name])))
    shown = [output.stream for output in checked.diagram.outputs]
    given = {s: [Row(row[0] * S, row, (seq,)) for seq, row in enumerate(rows)] for s, rows in ROWS.items()}
    expected = evaluate(checked, given, 40 * S, flush=True).streams
    inputs, folder = written(tmp_path), tmp_path / "run"
    with auroral.run(checked, inputs=inputs, folder=folder, session=spark, flush=True) as app:
        app.await_termination(300)
        for stream in shown:
            rows = app.table(stream).to_pylist()
            assert [tuple(row.values()) for row in rows] == [(r.stime, *r.values) for r in expected[stream]], stream
    assert all(expected[stream] for stream in shown if checked.streams[stream].schema.fields)
    report = auroral.verify(folder, spark)
    assert report.ok, report.text
