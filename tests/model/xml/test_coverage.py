"""The page of what has an effect is complete, and true: each parameter does something exactly where the page says so."""

from __future__ import annotations

import re

import pytest

from auroral.model.boxes.later import LATER
from auroral.model.checking import check
from auroral.model.xml import coverage
from auroral.model.xml.boxes import SHAPES, is_array_box
from auroral.model.xml.vocabulary import DEPLOYMENT, DIAGRAM, UPDATE
from model.xml.compose import AGGREGATE, JOIN, SUNION, box, load
from model.xml.test_box_types import DROP, WINDOW_DROP

# Every box type that genuine files are known to have.
GENUINE = [
    "filter",
    "map",
    "union",
    "bsort",
    "aggregate",
    "join",
    "aurorajoin",
    "sjoin",
    "waitfor",
    "lock",
    "unlock",
    "random_drop",
    "window_drop",
    "sunion",
    "soutput",
    "scontrol",
    "revisionfilter",
    "revisionmap",
    "revisionaggregate",
    "connectionpoint",
    "sweeper",
    "insert",
    "update",
    "delete",
    "select",
    "exists",
    "delay",
    "delay_sel",
    "combine",
    "joinstatic",
    "lrwaitfor",
]
ARRAYS = ["scatter", "gather", "filter_array", "delta_x", "face_detect_1", "regrid", "render"]


def rows_of(table: str) -> dict[str, tuple[str, str]]:
    found = {}
    for line in table.splitlines()[2:]:
        name, state, why = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        found[name] = (state, why)
    return found


def test_every_box_type_has_a_row() -> None:
    rows = rows_of(coverage.box_types())
    assert set(GENUINE) <= set(rows)
    for name in SHAPES:
        state, why = rows[name]
        assert state == (coverage.LOADS if name in LATER else coverage.RUNS)
        assert state == coverage.RUNS or why
    assert all(is_array_box(name) for name in ARRAYS)


def test_a_box_type_that_comes_to_run_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows_of(coverage.elements())["`<table>` with `name`, `schema`, `stream`, `node`"][0] == coverage.LOADS
    for name in ("insert", "bsort"):
        monkeypatch.delitem(LATER, name)
    assert rows_of(coverage.box_types())["bsort"] == (coverage.RUNS, "")
    elements = rows_of(coverage.elements())
    assert elements["`<table>` with `name`, `schema`"] == (coverage.RUNS, "")
    assert elements["`stream` of `<table>`"][0] == coverage.LOADS


def test_every_element_and_attribute_is_there_and_no_other() -> None:
    for table, words in ((coverage.elements(), DIAGRAM | UPDATE), (coverage.deployment_elements(), DEPLOYMENT)):
        for element, tag in words.items():
            lines = [line for line in table.splitlines() if f"`<{element}>`" in line]
            for name in (*tag.required, *tag.optional, *tag.ours):
                assert any(f"`{name}`" in line for line in lines), f"{name} of <{element}>"
    said = [*coverage.IDLE, *coverage.WITH_BOX, *coverage.REFUSALS]
    for name, words in (
        *((name, DIAGRAM) for name in said),
        *((name, DEPLOYMENT) for name in (*coverage.IDLE_IN_DEPLOYMENTS, *coverage.REFUSALS_IN_DEPLOYMENTS)),
    ):
        element, _, part = name.partition(" ")
        tag = words[element]
        assert not part or part in (*tag.required, *tag.optional, *tag.children), name


FILTER = {"expression.0": "v > 1"}
MAP = {"expression.0": "v", "output-field-name.0": "x"}
SHIFTED = {**JOIN, "down-size": JOIN["left-buffer-size"], "up-size": JOIN["right-buffer-size"]}
AURORA = {name: value for name, value in SHIFTED.items() if not name.endswith("buffer-size")}
BASES = {
    "filter": FILTER,
    "map": MAP,
    "union": {},
    "aggregate": AGGREGATE,
    "join": JOIN,
    "sjoin": JOIN,
    "aurorajoin": AURORA,
    "random_drop": DROP,
    "window_drop": WINDOW_DROP,
    "sunion": SUNION,
    "delay": {"delay-ms": "5"},
    "delay_sel": {"delay-ms": "5"},
}
OTHER = {
    "expression.N": "v > 2",
    "output-field-name.N": "y",
    "window-size": "20",
    "advance": "2",
    "window-slide": "2",
    "window-size-by": "TUPLES",
    "order-by": "TUPLENUM",
    "order-on-field": "t2",
    "group-by": "k",
    "timeout": "3",
    "aggregate-function.N": "sum(v)",
    "aggregate-function-output-name.N": "other",
    "slack": "1",
    "predicate": "left.v = right.v",
    "left-order-by": "TUPLES",
    "right-order-by": "TUPLES",
    "down-size": "9",
    "left-buffer-size": "9",
    "right-buffer-size": "9",
    "up-size": "9",
    "left-order-on-field": "t2",
    "right-order-on-field": "t2",
    "out-field.N": "left.v",
    "out-field-name.N": "z",
    "drop_rate": "0.5",
    "max_batch_size": "7",
    "interval": "200",
    "location": "middle",
    "max-delay.N": "900",
    "stagger": "1",
    "leftjoin": "false",
    "rightjoin": "false",
    "drop-mode": "x",
    "delay-ms": "9",
    "selectivity": "0.5",
    "auroral:on-error": "reject",
    "auroral:seed": "other",
    "auroral:group-by.N": "k",
    "auroral:kind": "left",
}
FLAGS = (
    "pass-on-false-port",
    "drop-empty-outputs",
    "independent-window-alignment",
    "last-agg",
    "churn",
    "should-reconcile",
    "benchmark",
)
# Asked for beside the parameter, so that it is allowed to stand there.
BESIDE = {"out-field-name.N": {"out-field.0": "left.k"}, "timeout": {"independent-window-alignment": "1"}}
OUTPUTS = {"pass-on-false-port": ["out", "rest"]}
# The fields that windows and buffers are on; and slack, which does nothing on windows of the stime, with a warning, and something on others.
ON_TIME = ("order-on-field", "left-order-on-field", "right-order-on-field", "slack")


def effect(type_name: str, parameters: dict[str, str], outs: list[str]) -> tuple[object, ...]:
    """What is computed: the typed boxes, the buckets, and the bound of the output; or why it does not run.

    A box's spec keeps what it was told; what counts is what it does.
    """
    text = box(type_name, parameters, ["a", "b"] if type_name.endswith("join") else ["a"], outs)
    loaded = load(text, f'<output stream="{outs[-1]}"/>').diagram
    checked = check(loaded)
    typed = [one.typed for one in checked.boxes]
    return typed, loaded.bucket, loaded.outputs[0].availability, [blocker.what for blocker in checked.blockers]


def cases() -> list[tuple[str, str]]:
    names = [(name, one) for name in BASES for one in (*SHAPES[name].required, *SHAPES[name].optional)]
    ours = [("random_drop", "auroral:seed"), ("window_drop", "auroral:seed"), ("window_drop", "auroral:group-by.N")]
    return [*(case for case in names if case[1] not in ON_TIME), *ours]


@pytest.mark.parametrize(("type_name", "name"), cases())
def test_a_parameter_does_something_unless_the_page_says_not(type_name: str, name: str) -> None:
    beside = {
        key: value for key, value in BESIDE.get(name, {}).items() if key in (*SHAPES[type_name].optional, "out-field.0")
    }
    base = {**BASES[type_name], **beside}
    outs = ["c", "out"] if type_name == "sunion" else ["out"]
    changed = {**base, name.replace(".N", ".0"): "1" if name in FLAGS else OTHER[name]}
    differs = effect(type_name, base, outs) != effect(type_name, changed, OUTPUTS.get(name, outs))
    assert differs == (name not in SHAPES[type_name].idle)


def test_all_box_types_that_run_are_tried() -> None:
    assert set(BASES) == {name for name in SHAPES if name not in LATER and SHAPES[name].known}
