"""The page of what has an effect is complete, and true: each parameter does something exactly where the page says so."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from auroral.model.boxes.later import LATER
from auroral.model.checking import check
from auroral.model.errors import DiagramError
from auroral.model.xml import coverage
from auroral.model.xml.boxes import SHAPES, is_array_box
from auroral.model.xml.vocabulary import DEPLOYMENT, DIAGRAM, UPDATE
from model.xml.compose import AGGREGATE, JOIN, SUNION, box, load
from model.xml.test_box_types import DROP, WINDOW_DROP
from model.xml.test_tables import query

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


def test_what_runs_is_said_to_and_so_is_what_comes_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    elements = rows_of(coverage.elements())
    assert elements["`<table>` with `name`, `schema`"] == (coverage.RUNS, "")
    assert elements["`stream` of `<table>`"][0] == coverage.LOADS
    assert elements["`<connection_point_view>` with `name`, `stream`"] == (coverage.RUNS, "")
    assert any(
        name.startswith("`<in>` with `stream`") and "`update_queue`, `queue_type`, `key`" in name for name in elements
    )
    assert rows_of(coverage.box_types())["revisionfilter"] == (coverage.RUNS, "")
    assert rows_of(coverage.box_types())["sweeper"][0] == coverage.LOADS
    monkeypatch.delitem(LATER, "sweeper")
    assert rows_of(coverage.box_types())["sweeper"] == (coverage.RUNS, "")


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
    "joinstatic": {"predicate": JOIN["predicate"]},
    "bsort": {"order-on": "t", "slack": "2"},
    "wsort": {"order-on": "t", "timeout": "5"},
    "waitfor": {"predicate": "buffered.k = enabler.k", "timeout": "5"},
    "resample": {"out-field.0": "v", "out-field-name.0": "x", "window-size": "5"},
    "xsection": {"aggregate-function.0": "count()", "group-by": "t"},
    "combine": {"key-field": "k", "expression.0": "a.v"},
    "lrwaitfor": {"key-field": "t"},
    "insert": {"sql": "insert into seen values (input.t, input.k, input.v)"},
    "select": {"sql": "select * from seen where k = input.k"},
    "update": {"sql": "update seen set v = 0 where k = input.k"},
    "delete": {"sql": "delete from seen"},
    "exists": {"sql": "select * from seen where k = input.k"},
    "lock": {"lockset": "s", "key": "t"},
    "unlock": {"lockset": "s", "key": "t"},
    "revisionfilter": FILTER,
    "revisionmap": MAP,
    "revisionaggregate": {**AGGREGATE, "independent-window-alignment": "1"},
    "revisable": {"keep": "60s", "key": "t"},
    "settled": {},
}
TWO_INPUTS = ("join", "sjoin", "aurorajoin", "joinstatic", "waitfor", "resample", "combine", "lrwaitfor")
TABLE_BOXES = ("insert", "select", "update", "delete", "exists")
# What is another value for a parameter depends on the box.
OTHER_OF = {
    ("combine", "expression.N"): "b.v",
    ("resample", "out-field.N"): "t",
    ("waitfor", "predicate"): "buffered.v = enabler.v",
    ("insert", "sql"): "insert into seen values (input.t, input.k, 1)",
    ("select", "sql"): "select * from seen",
    ("update", "sql"): "update seen set v = 1",
    ("delete", "sql"): "delete from seen where k = input.k",
    ("exists", "sql"): "select * from seen",
    ("revisionaggregate", "independent-window-alignment"): "0",
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
    "order-on": "v",
    "key-field": "v",
    "start-key-value": "3",
    "lockset": "other",
    "key": "k",
    "output-expression.N": "old.v",
    "auroral:on-error": "reject",
    "auroral:seed": "other",
    "auroral:group-by.N": "k",
    "auroral:kind": "left",
    "keep": "30s",
    "processing-mode": "UPSTREAM",
    "anchor": "view",
    "inverse.N": "v",
}
FLAGS = (
    "pass-on-false-port",
    "drop-empty-outputs",
    "independent-window-alignment",
    "last-agg",
    "churn",
    "should-reconcile",
    "benchmark",
    "use-data-as-first-key-value",
    "pass-input",
    "pass-deletions",
    "pass-on-no-results",
    "pass-result-sizes",
)
# Asked for beside the parameter, so that it is allowed to stand there.
BESIDE = {"out-field-name.N": {"out-field.0": "left.k"}, "timeout": {"independent-window-alignment": "1"}}
_CHANGED = {"output-expression.0": "new.v", "output-field-name.0": "x"}
BESIDE_OF = {
    ("revisionaggregate", "anchor"): {"processing-mode": "UPSTREAM"},
    ("update", "output-expression.N"): _CHANGED,
    ("update", "output-field-name.N"): _CHANGED,
}
PORTS = {
    "sunion": lambda given: ["c", "out"],
    "filter": lambda given: ["out", *(["rest"] if "pass-on-false-port" in given else [])],
    "revisionfilter": lambda given: ["out", *(["rest"] if "pass-on-false-port" in given else [])],
    "insert": lambda given: ["out"] if "pass-input" in given else [],
    "update": lambda given: ["out"] if given.keys() & {"pass-input", "output-expression.0"} else [],
    "delete": lambda given: [name for name in ("pass-deletions", "pass-input") if name in given],
    "select": lambda given: ["out", *(name for name in ("pass-on-no-results", "pass-result-sizes") if name in given)],
}
"""The output streams that a box has with some parameters; one where nothing is said."""
# The fields that windows and buffers are on; and slack, which does nothing on windows of the stime, with a warning, and something on others.
ON_TIME = ("order-on-field", "left-order-on-field", "right-order-on-field", "slack")


def effect(type_name: str, parameters: dict[str, str]) -> tuple[object, ...]:
    """What is computed: the typed boxes, the buckets, and the bound of the output; or why it does not run.

    A box's spec keeps what it was told; what counts is what it does.
    """
    outs = PORTS.get(type_name, lambda given: ["out"])(parameters)
    text = box(type_name, parameters, ["a", "b"] if type_name in TWO_INPUTS else ["a"], outs)
    if type_name in TABLE_BOXES:
        # Not all of them give something: another box does, so that there is an output.
        text = query(text.replace("</box>", '<access table="seen"/></box>'), box("union", outs=["rest"], name="u"))
        outs = ["rest"]
    if type_name in ("revisable", "settled") or type_name.startswith("revision"):
        text = behind_revisions(text, type_name != "revisable")
    loaded = load(text, f'<output stream="{outs[-1]}"/>').diagram
    try:
        checked = check(loaded)
    except DiagramError as error:
        assert type_name == "revisionaggregate", "others run in all their forms"
        return (str(error),)
    typed = [one.typed for one in checked.boxes]
    return typed, loaded.bucket, loaded.outputs[0].availability, [blocker.what for blocker in checked.blockers]


def behind_revisions(text: str, revisable: bool) -> str:
    """The box over rows of `a` that have a mark, and may be revised."""
    fields = {"t": "t", "k": "k", "v": "v", "revised_value": "''"}
    columns = {f"expression.{n}": value for n, value in enumerate(fields.values())}
    columns |= {f"output-field-name.{n}": name for n, name in enumerate(fields)}
    before = box("map", columns, ["a"], ["marked"], name="marked")
    if revisable:
        before += box("revisable", BASES["revisable"], ["marked"], ["standing"], name="standing")
    return before + text.replace(
        '<in stream="a"/>', '<in stream="standing"/>' if revisable else '<in stream="marked"/>'
    )


def cases() -> list[tuple[str, str]]:
    names = [(name, one) for name in BASES for one in (*SHAPES[name].required, *SHAPES[name].optional)]
    ours = [("random_drop", "auroral:seed"), ("window_drop", "auroral:seed"), ("window_drop", "auroral:group-by.N")]
    return [*(case for case in names if case[1] not in ON_TIME or case[0] == "bsort"), *ours]


@pytest.mark.parametrize(("type_name", "name"), cases())
def test_a_parameter_does_something_unless_the_page_says_not(type_name: str, name: str) -> None:
    beside = {
        key: value
        for key, value in BESIDE.get(name, {}).items()
        if key in (*SHAPES[type_name].optional, "out-field.0") and type_name != "resample"
    }
    base = {**BASES[type_name], **beside, **BESIDE_OF.get((type_name, name), {})}
    other = OTHER_OF.get((type_name, name)) or ("1" if name in FLAGS else OTHER[name])
    changed = {**base, name.replace(".N", ".0"): other}
    differs = effect(type_name, base) != effect(type_name, changed)
    assert differs == (name not in SHAPES[type_name].idle)


TABLE_SQL = box("insert", BASES["insert"], outs=[]).replace("</box>", '<access table="seen"/></box>')


@pytest.mark.parametrize("name", coverage.OF_TABLES)
def test_a_parameter_of_a_table_does_something_unless_the_page_says_not(name: str) -> None:
    """What of the table counts is all but the parameters, which it keeps; contents come with their file."""

    def found(*more: str) -> tuple[object, ...]:
        keyed = query(TABLE_SQL).replace('<key field="K"/>', "" if name == "key" else '<key field="K"/>')
        loaded = load(keyed.replace("</table>", "".join(more) + "</table>")).diagram
        tables = [replace(table, parameters=()) for table in loaded.tables]
        return tables, [table.contents_file for table in loaded.tables], list(loaded.boxes)

    given = {"key": ("t", "k"), "contents": ("", "rows.csv"), "changes": ("", "changed")}.get(name, ("", "1"))
    one, other = (found(f'<parameter name="{name}" value="{value}"/>') for value in given)
    assert (one != other) == (not coverage.OF_TABLES[name])


def test_all_box_types_that_run_are_tried() -> None:
    assert set(BASES) == {name for name in SHAPES if name not in LATER and SHAPES[name].known}
