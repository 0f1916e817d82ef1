"""Functions, aggregates and boxes of installed packages: found by name, loaded when used, checked as all others."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import auroral
from auroral.cli import main
from auroral.extend import Box
from auroral.model.aggregates import _registered
from auroral.model.boxes.base import BoxClass
from auroral.model.boxes.user import UserBox
from auroral.model.errors import DiagramError
from auroral.model.expression import functions
from auroral.model.xml import read_diagram, same_diagram, write_diagram
from auroral.node.functionwords import function_words
from packages.offering import install

SCALE = """
@dataclass(frozen=True)
class Scale(Box):
    '''Each row, with a field some times as large.'''

    field: FieldName
    by_factor: float = 2.0
    keep: FieldNames = ()
    over: Length = 0
    label: str = "x"
    loud: bool = False
    times: int = 1

    def __post_init__(self):
        if self.times < 1:
            raise ValueError(f"times is {self.times}; write 1 or more")

    def schema(self, rows):
        if not rows[self.field].is_numeric:
            raise ValueError(f"{self.field!r} is no number")
        return rows

    def horizon(self):
        return self.over

    def compute(self, rows):
        return rows

@function("int -> int")
def twice(x):
    '''Two times.'''
    return 2 * x

biggest = aggregate(init=lambda: 0, incr=max, final=lambda state: state, returns="long")
"""
OFFERS: dict[str, Any] = {
    "boxes": {"scale": "Scale"},
    "functions": {"twice": "twice"},
    "aggregates": {"biggest": "biggest"},
}
XML = """<borealis>
<schema name="row"><field name="t" type="int"/><field name="k" type="string" size="4"/></schema>
<input stream="a" schema="row"/><output stream="out"/>
<box name="it" type="Scale"><in stream="a"/><out stream="out"/>
{}
</box>
</borealis>
"""
FIELD = '<parameter name="field" value="T"/>'


@pytest.fixture
def scaling(site: Path) -> Path:
    install(site, "scale-boxes", SCALE, **OFFERS)
    return site


def diagram() -> tuple[auroral.DiagramBuilder, auroral.Stream]:
    made = auroral.diagram("d")
    return made, made.input("a", "t int, k string(4)")


def problems(call: Any) -> str:
    with pytest.raises(DiagramError) as caught:
        call()
    for problem in caught.value.problems:
        assert problem.allowed and problem.next_step, problem.what
    return str(caught.value)


def test_all_three_in_python(scaling: Path) -> None:
    made, rows = diagram()
    scaled = rows.box("scaled", "scale", field="t", over="5s")
    doubled = scaled.map("doubled", {"t": "twice(t)", "k": "k"})
    doubled.aggregate("most", {"m": "biggest(t)"}, window="1s", by=["k"]).output()
    checked = made.check().runnable()
    assert str(checked.streams["most"].schema) == "k string(4), m long"
    box = checked.boxes[0]
    assert box.typed.past == 5_000_000
    assert box.box.spec == UserBox("scale", box.box.spec.box)  # type: ignore[attr-defined]
    assert "scale" in made.to_mermaid() and "field t, over 5s" in made.to_mermaid()


def test_all_three_in_xml(scaling: Path) -> None:
    loaded = auroral.load(XML.format(FIELD + '<parameter name="by-factor" value="3"/>'))
    (box,) = loaded.boxes
    assert isinstance(box.spec, UserBox)
    assert vars(box.spec.box) == {
        "field": "t",
        "by_factor": 3.0,
        "keep": (),
        "over": 0,
        "label": "x",
        "loud": False,
        "times": 1,
    }
    every = '<parameter name="keep" value="T, K"/><parameter name="over" value="2s"/><parameter name="loud" value="1"/>'
    every += '<parameter name="label" value="A b"/><parameter name="times" value="4"/>'
    (box,) = auroral.load(XML.format(FIELD + every)).boxes
    assert isinstance(box.spec, UserBox)
    found = vars(box.spec.box)
    assert [found[name] for name in ("keep", "over", "loud", "label", "times")] == [
        ("t", "k"),
        2_000_000,
        True,
        "A b",
        4,
    ]
    auroral.check(loaded).runnable()


def test_they_are_written_back(scaling: Path) -> None:
    loaded = auroral.load(XML.format(FIELD + '<parameter name="over" value="1500ms"/>'))
    written = write_diagram(loaded)
    assert '<parameter name="over" value="1500ms"/>' in written and "by-factor" not in written
    assert same_diagram(read_diagram(written).diagram, loaded)
    assert "'scale' is one of Auroral's, or of a package for it" in problems(lambda: write_diagram(loaded, strict=True))


def test_values_of_parameters_are_read_as_they_stand(site: Path) -> None:
    """Not by Borealis' rules: nothing is lower-cased because of what a parameter is called, and an empty value is one."""
    source = """
        @dataclass(frozen=True)
        class Note(Box):
            key: str = "x"
            predicate: str = "x"
            keep: FieldNames = ("k",)

            def schema(self, rows):
                return rows

            def compute(self, rows):
                return rows
    """
    install(site, "notes", source, boxes={"note": "Note"})
    text = XML.replace("Scale", "note").format(
        """<parameter name="key" value="A b"/><parameter name="predicate" value="K = 'a\\b'"/>"""
    )
    loaded = auroral.load(text)
    (box,) = loaded.boxes
    assert vars(box.spec.box) == {"key": "A b", "predicate": "K = 'a\\b'", "keep": ("k",)}  # type: ignore[attr-defined]
    assert same_diagram(read_diagram(write_diagram(loaded)).diagram, loaded)
    made, rows = diagram()
    rows.box("it", "note", key="", predicate=" ", keep=[]).output()
    assert same_diagram(auroral.load(made.build().to_xml()), made.build())


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("", "parameter 'field' is required and missing"),
        (FIELD + '<parameter name="by-factor" value="much"/>', "parameter 'by-factor' is 'much'"),
        (FIELD + '<parameter name="over" value="5"/>', "parameter 'over' is '5'"),
        (FIELD + '<parameter name="loud" value="very"/>', "parameter 'loud' is 'very'"),
        (FIELD + '<parameter name="times" value="0"/>', "scale: times is 0; write 1 or more"),
    ],
)
def test_wrong_parameters_in_xml(scaling: Path, parameters: str, said: str) -> None:
    text = problems(lambda: read_diagram(XML.format(parameters), "f.xml"))
    assert said in text and "f.xml:" in text


def test_unknown_parameters_in_xml_warn(scaling: Path) -> None:
    (warning,) = read_diagram(XML.format(FIELD + '<parameter name="bi-factor" value="3"/>')).warnings
    assert "did you mean 'by-factor'?" in str(warning)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "scale needs field"),
        ({"feld": "t"}, "did you mean 'field'?"),
        ({"field": 3}, "field is 3"),
        ({"field": "t", "times": 1.5}, "times is 1.5"),
        ({"field": "t", "times": 0}, "times is 0; write 1 or more"),
        ({"field": "t", "over": 5}, "over=5 is not a length of time"),
        ({"field": "t", "by_factor": True}, "by_factor is True"),
        ({"field": "t", "keep": "k"}, "keep"),
    ],
)
def test_wrong_parameters_in_python(scaling: Path, parameters: dict[str, Any], said: str) -> None:
    _, rows = diagram()
    text = problems(lambda: rows.box("it", "scale", **parameters))
    assert said in text and "test_packages.py" in text


def test_fields_ports_and_schemas_are_checked(scaling: Path) -> None:
    made, rows = diagram()
    rows.box("it", "scale", field="tt").output()
    rows.box("text", "scale", field="k").output()
    rows.box("two", "scale", rows, field="t").output()
    text = problems(made.check)
    assert "unknown field 'tt'" in text and "did you mean 't'?" in text
    assert "scale: 'k' is no number" in text
    assert "scale has 2 input streams" in text


def test_nothing_is_imported_before_it_is_used(scaling: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, rows = diagram()
    rows.filter("f", "abs(t) > 1").output()
    made.check()
    assert main(["boxes"]) == 0
    assert "scale of scale-boxes 1.0" in capsys.readouterr().out
    assert "scale_boxes" not in sys.modules
    rows.map("m", {"t": "twice(t)"}).output()
    made.check()
    assert "scale_boxes" in sys.modules


def test_a_package_that_cannot_be_imported_is_named_when_it_is_used(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "broken-boxes", "import no_such_module", **OFFERS)
    made, rows = diagram()
    rows.filter("f", "t > 1").output()
    made.check()
    said = "broken-boxes 1.0 cannot be loaded from broken_boxes"
    assert said in problems(lambda: rows.box("it", "scale", field="t"))
    assert said in problems(lambda: read_diagram(XML.format(FIELD)))
    rows.map("m", {"t": "twice(t)"}).aggregate("most", {"m": "biggest(t)"}, window="1s").output()
    text = problems(made.check)
    assert "function 'twice' of" in text and "aggregate function 'biggest' of" in text, "also of the box behind it"
    assert text.count("ModuleNotFoundError: No module named 'no_such_module'") == 2
    assert main(["boxes", "scale"]) == 1
    assert said in capsys.readouterr().out


def test_two_packages_of_one_name(scaling: Path) -> None:
    install(scaling, "other-boxes", SCALE, **OFFERS)
    made, rows = diagram()
    for call in (lambda: rows.box("it", "scale", field="t"), lambda: read_diagram(XML.format(FIELD))):
        text = problems(call)
        assert "'scale' is there more than once" in text
        assert "scale-boxes 1.0" in text and "other-boxes 1.0" in text
    rows.map("m", {"t": "twice(t)"}).output()
    assert "the function 'twice' is there more than once" in problems(made.check)


def test_names_that_are_built_in(site: Path) -> None:
    offers = {"boxes": {"union": "Scale"}, "functions": {"ABS": "twice"}, "aggregates": {"sum": "biggest"}}
    install(site, "rude-boxes", SCALE, **offers)
    made, rows = diagram()
    rows.filter("f", "strlen(k) > 1").output()
    made.check()
    rows.filter("g", "abs(t) > 1").aggregate("s", {"s": "sum(t)"}, window="1s").output()
    text = problems(made.check)
    assert "the function 'abs' is there more than once: built in and rude-boxes 1.0" in text
    assert "the box type 'union' is there" in problems(lambda: read_diagram(XML.replace("Scale", "union").format("")))
    one, rows = diagram()
    rows.aggregate("s", {"s": "sum(t)"}, window="1s").output()
    assert "the aggregate function 'sum' is there more than once" in problems(one.check)


def test_names_that_the_program_registered(scaling: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_default", functions._default)
    monkeypatch.setitem(_registered, "biggest", None)
    auroral.register_function("twice", abs, "int", "int")
    auroral.aggregate_function("biggest", init=int, incr=max, final=abs, returns="long")
    made, rows = diagram()
    rows.map("m", {"t": "twice(t)"}).output()
    assert "registered by this program and scale-boxes 1.0" in problems(made.check)
    made, rows = diagram()
    rows.aggregate("m", {"t": "biggest(t)"}, window="1s").output()
    assert "registered by this program and scale-boxes 1.0" in problems(made.check)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("Scale = 3", "is a int"),
        ("class Scale: pass", "Scale is no box"),
        ("class Scale(Box):\n    n: int\n", "is no frozen dataclass"),
        ("@dataclass(frozen=True)\nclass Scale(Box):\n    n: int\n", "has no method 'schema'"),
        (
            "@dataclass(frozen=True)\nclass Scale(Box):\n    n: list\n"
            "    def schema(self, rows): return rows\n    def compute(self, rows): return rows\n",
            "Scale.n is of a type that no parameter has",
        ),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
    ],
)
def test_what_is_no_box(site: Path, source: str, said: str) -> None:
    install(site, "odd-boxes", source, boxes={"scale": "Scale"})
    _, rows = diagram()
    text = problems(lambda: rows.box("it", "scale"))
    assert said in text and "odd-boxes 1.0" in text


def test_what_is_no_function(site: Path) -> None:
    source = "def twice(x): return x\nbiggest = 3"
    install(site, "odd", source, functions={"twice": "twice"}, aggregates={"biggest": "biggest"})
    made, rows = diagram()
    rows.map("m", {"t": "twice(t)"}).output()
    assert "made by @auroral.extend.function" in problems(made.check)
    made, rows = diagram()
    rows.aggregate("m", {"t": "biggest(t)"}, window="1s").output()
    assert "made by auroral.extend.aggregate" in problems(made.check)


def test_unknown_names_suggest_what_packages_have(scaling: Path) -> None:
    made, rows = diagram()
    assert "did you mean 'scale'?" in problems(lambda: rows.box("it", "scal"))
    assert "did you mean 'scale'?" in problems(lambda: read_diagram(XML.replace("Scale", "scal").format(FIELD)))
    rows.map("m", {"t": "twise(t)"}).output()
    assert "did you mean 'twice'?" in problems(made.check)


def test_check_and_explain_say_where_a_box_comes_from(
    scaling: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "d.py"
    file.write_text(
        "import auroral\nd = auroral.diagram('d')\n"
        "d.input('a', 't int').box('it', 'scale', field='t').map('m', {'t': 'twice(t)'})"
        ".aggregate('most', {'m': 'biggest(t)'}, window='1s').output()\n"
    )
    for command in ("check", "explain"):
        assert main([command, str(file)]) == 0
        out = capsys.readouterr().out
        assert "scale of scale-boxes 1.0" in out
        assert "biggest of scale-boxes 1.0" in out and "twice of scale-boxes 1.0" in out
        assert main([command, "--json", str(file)]) == 0
        found = json.loads(capsys.readouterr().out)
        (one,) = found["results"] if command == "check" else found["diagrams"]
        assert [box["from"] for box in one["boxes"]] == ["scale-boxes 1.0", None, None]
        assert one["functions_of_packages"] == ["biggest of scale-boxes 1.0", "twice of scale-boxes 1.0"]


def test_the_list_of_boxes(scaling: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["boxes", "Scale", "twice", "biggest", "filter", "count", "bsort"]) == 0
    out = capsys.readouterr().out
    for said in ("Each row, with a field some times as large.", "over: a length of time, as 10s (optional: 0us)"):
        assert said in out
    assert "twice(int) -> int" in out and "Two times." in out
    assert main(["boxes", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"kind": "box", "name": "scale", "package": "scale-boxes 1.0"} in listed
    assert {"kind": "box", "name": "apply", "package": None} in listed
    assert main(["boxes", "scal"]) == 2
    assert "did you mean 'scale'?" in capsys.readouterr().err


COUNTED = """
from auroral.extend import Fold

@dataclass(frozen=True)
class Counted(Fold):
    '''How many rows of a key there were.'''

    by: FieldNames
    every: int = 1

    def key(self):
        return self.by

    def schema(self, *streams):
        return {"n": "long"}

    def row(self, state, row):
        n = (state or 0) + 1
        return n, [{"n": n}] if n % self.every == 0 else []
"""


def test_a_box_that_keeps_a_state_is_checked_and_described_as_all_others(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "counted-boxes", COUNTED, boxes={"counted": "Counted"})
    made, rows = diagram()
    rows.box("it", "counted", by=["k"], every=2).output()
    checked = made.check().runnable()
    (box,) = checked.boxes
    assert box.typed.box_class is BoxClass.FOLD and str(checked.streams["it"].schema) == "n long"
    assert same_diagram(read_diagram(made.to_xml()).diagram, made.build())
    assert main(["boxes", "counted"]) == 0
    out = capsys.readouterr().out
    assert "as the box says, per key" in out and "How many rows of a key there were." in out
    made, rows = diagram()
    rows.box("it", "counted", by=["kk"]).output()
    assert "unknown field 'kk'" in problems(made.check)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("def row(", "def rows("), "Counted has no method 'row'"),
        (("def key(", "def due(self, state): return 1\n\n    def key("), "has a method 'due' and no method 'timeout'"),
    ],
)
def test_what_is_no_box_with_a_state(site: Path, changed: tuple[str, str], said: str) -> None:
    install(site, "odd-boxes", COUNTED.replace(*changed), boxes={"counted": "Counted"})
    _, rows = diagram()
    assert said in problems(lambda: rows.box("it", "counted", by=["k"]))


@dataclass(frozen=True)
class Own(Box):
    least: int

    def schema(self, rows: auroral.Schema) -> auroral.Schema:
        return rows

    def compute(self, rows: Any) -> Any:
        return rows.where(f"t > {self.least}")


class NoDataclass(Box):
    pass


def test_a_mended_box_that_keeps_a_state_is_seen_to_be(site: Path) -> None:
    sources = (COUNTED, COUNTED.replace("rows of a key", "rows"), COUNTED.replace("+ 1", "+ 2"))
    for n, source in enumerate(sources):
        install(site, f"counted-{n}", source, boxes={f"counted{n}": "Counted"})
    words = []
    for n, _ in enumerate(sources):
        made, rows = diagram()
        rows.box("it", f"counted{n}", by=["k"]).output()
        words.append(function_words(made.check()))
    assert words[0] == words[1] != words[2]


def test_a_class_of_the_program_itself() -> None:
    made, rows = diagram()
    rows.box("it", Own(3)).output()
    checked = made.check().runnable()
    assert checked.boxes[0].box.spec == UserBox("Own", Own(3)) != UserBox("Own", Own(4))
    assert "no installed package offers it" in problems(made.to_xml)
    assert "give them to the box itself" in problems(lambda: rows.box("other", Own(3), least=4))
    assert "no frozen dataclass" in problems(lambda: rows.box("third", NoDataclass()))
    assert "the name of a box type" in problems(lambda: rows.box("fourth", 3))  # type: ignore[arg-type]


def test_another_version_of_a_package_is_no_other_box() -> None:
    one = UserBox("scale", Own(3), "scale-boxes 1.0")
    assert one == replace(one, package="scale-boxes 2.0")
    assert repr(one) == repr(replace(one, package="scale-boxes 2.0"))
