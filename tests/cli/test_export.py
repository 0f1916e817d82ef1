"""`auroral export`: needs no Spark."""

from pathlib import Path

import auroral as api
from auroral.model.xml import read_deployment, same_diagram
from auroral.model.yaml import read_deployment as read_yaml
from cli.conftest import EXAMPLES, Call


def test_a_program_as_xml(auroral: Call, tmp_path: Path) -> None:
    ended = auroral("export", EXAMPLES / "netmon.py", "--out", "netmon.xml")
    assert (ended.code, ended.out) == (0, "wrote netmon.xml\n")
    assert "auroral:name" not in Path("netmon.xml").read_text()
    assert api.load("netmon.xml").name == "netmon"
    checked = [auroral("check", file) for file in (EXAMPLES / "netmon.py", "netmon.xml")]
    assert checked[0].out.splitlines()[1:] == checked[1].out.splitlines()[1:]


def test_standard_output_has_the_text_alone(auroral: Call, tmp_path: Path) -> None:
    text = auroral("export", EXAMPLES / "grid.xml", "--stime", "north=sec:ms").out
    assert '<input stream="north" schema="Reading" auroral:stime="sec" auroral:unit="1ms"/>' in text
    diagram = api.load(str(EXAMPLES / "grid.xml"), stime={"north": "sec:ms"})
    assert same_diagram(api.load(text), diagram)


def test_strict(auroral: Call) -> None:
    assert "auroral" not in auroral("export", EXAMPLES / "grid.xml", "--strict").out
    ended = auroral("export", EXAMPLES / "netmon.py", "--strict")
    assert ended.code == 1 and not ended.out
    assert "box 'alerts': auroral:left-within" in ended.err


def test_changes_are_made_before(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "update.xml").write_text(
        '<modify box="sane"><parameter name="expression.0" value="hertz > 1"/></modify>'
    )
    ended = auroral("export", EXAMPLES / "grid.xml", "update.xml")
    assert ended.code == 0
    assert "hertz &gt; 1" in ended.out and "45.0" not in ended.out
    assert "is no update file" in auroral("export", EXAMPLES / "grid.xml", EXAMPLES / "grid.xml").err
    assert "update files change XML" in auroral("export", EXAMPLES / "netmon.py", "update.xml").err


def test_deployments(auroral: Call, tmp_path: Path) -> None:
    text = (EXAMPLES / "grid-deploy.xml").read_text()
    assert read_deployment(auroral("export", EXAMPLES / "grid-deploy.xml").out) == read_deployment(text)
    assert auroral("export", EXAMPLES / "grid-deploy.xml", "--out", "d.yaml").code == 0
    assert read_yaml(Path("d.yaml").read_text()) == read_deployment(text)
    assert auroral("export", "d.yaml", "--out", "d.xml").code == 0
    assert read_deployment(Path("d.xml").read_text()) == read_deployment(text)


def test_wrong_uses(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "there.xml").write_text("mine")
    for arguments, code, said in (
        ([EXAMPLES / "grid.xml", "--out", "there.xml"], 1, "there.xml is there already"),
        ([EXAMPLES / "grid.xml", "--out", "nowhere/x.xml"], 1, "cannot be written"),
        ([EXAMPLES / "grid.xml", "--out", "x.yaml"], 2, "a diagram cannot be YAML"),
        ([EXAMPLES / "grid-deploy.xml", "--diagram", "x"], 2, "is a deployment"),
        ([EXAMPLES / "grid.xml", "--stime", "nort=sec"], 2, "did you mean 'north'?"),
        (["nothing.xml"], 1, "cannot be read"),
    ):
        ended = auroral("export", *arguments)
        assert (ended.code, said in ended.err) == (code, True), ended.err
    assert (tmp_path / "there.xml").read_text() == "mine"


def test_contents_are_found_from_another_folder(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("id,v\n7,1\n")
    (tmp_path / "data" / "d.xml").write_text(
        '<borealis><schema name="s"><field name="id" type="int"/><field name="v" type="int"/></schema>'
        '<input stream="a" schema="s"/><output stream="b"/><query name="q"><table name="t" schema="s"><key field="id"/>'
        '<parameter name="contents" value="rows.csv"/></table><box name="x" type="exists"><in stream="a"/>'
        '<out stream="b"/><access table="t"/><parameter name="sql" value="select * from t where id = input.id"/></box>'
        "</query></borealis>"
    )
    assert auroral("export", "data/d.xml", "--out", "d.xml").code == 0
    (table,) = api.load("d.xml").tables
    assert table.contents is not None and table.contents.rows == ((7, 1),)
    assert 'value="data/rows.csv"' in Path("d.xml").read_text()
    assert auroral("export", "data/d.xml", "--out", "data/e.xml").code == 0
    assert 'value="rows.csv"' in Path("data/e.xml").read_text()
    assert auroral("check", "d.xml").code == 0


def test_what_a_text_cannot_hold(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import auroral\nd = auroral.diagram('own')\n"
        "d.input('a', 'v int').apply('same', lambda frame: frame, schema='v int').output()\n"
    )
    ended = auroral("export", "own.py", "--out", "own.xml")
    assert ended.code == 1 and "own.py:3" in ended.err and "Python function" in ended.err
    assert not Path("own.xml").exists()
