"""`auroral check`, as far as it needs no Spark."""

import json
from pathlib import Path

import pytest

from cli.conftest import EXAMPLES, Call

WRONG = """
import auroral

d = auroral.diagram("wrong")
a = d.input("a", "ts timestamp, host string, ms int", stime="ts")
a.filter("slow", "mss > 100").output()
a.map("half", {"h": "host / 2"}).output()
"""


@pytest.mark.parametrize("file", ["netmon.py", "grid.xml"])
def test_the_examples_are_fine(file: str, auroral: Call) -> None:
    ended = auroral("check", EXAMPLES / file)
    assert ended.code == 0
    assert "fine, and runs" in ended.out
    assert "buckets (" in ended.out


def test_a_deployment_is_checked_against_the_diagrams_beside_it(auroral: Call) -> None:
    fits = auroral("check", EXAMPLES / "grid.xml", EXAMPLES / "grid-deploy.xml")
    assert fits.code == 0
    assert "grid-deploy.xml: deployment: fine" in fits.out
    other = auroral("check", EXAMPLES / "netmon.py", EXAMPLES / "grid-deploy.xml")
    assert other.code == 1
    assert "unknown query 'Watch'" in other.out
    alone = auroral("check", EXAMPLES / "grid-deploy.xml")
    assert alone.code == 0
    assert "no diagram is given with it" in alone.out


def test_all_problems_at_once_with_place_and_next_step(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    ended = auroral("check", "wrong.py")
    assert ended.code == 1
    assert "wrong.py:6, step 'slow'" in ended.out
    assert "did you mean 'ms'?" in ended.out
    assert "wrong.py:7, step 'half'" in ended.out
    assert "Traceback" not in ended.out + ended.err


FOLDS = """
import auroral

d = auroral.diagram("folds", bucket="1s")
a = d.input("a", "k int")
seen = d.table("seen", "k int", key=["k"])
a.insert("put", seen)
a.exists("known", seen, where="seen.k = input.k").output()
"""
JOIN = """<borealis><schema name="r"><field name="k" type="int"/></schema><input stream="a" schema="r"/><output stream="o"/>
<box name="j" type="join"><in stream="a"/><in stream="a"/><out stream="o"/><parameter name="predicate" value="left.k = right.k"/>
<parameter name="left-order-by" value="TUPLES"/><parameter name="left-buffer-size" value="3"/>
<parameter name="right-order-by" value="TUPLES"/><parameter name="right-buffer-size" value="3"/></box></borealis>"""


def test_d12_what_does_not_converge_is_not_repeatable(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "folds.py").write_text(FOLDS)
    (tmp_path / "join.xml").write_text(JOIN)
    found = json.loads(auroral("check", "--json", "folds.py", "join.xml").out)
    boxes = [box for result in found["results"] for box in result["boxes"]]
    assert [(box["class"], box["convergent"], box["repeatable"]) for box in boxes] == [("fold", False, False)] * 2


def test_json(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    ended = auroral("check", "--json", EXAMPLES / "netmon.py", "wrong.py")
    found = json.loads(ended.out)
    assert (ended.code, found["ok"]) == (1, False)
    good, bad = found["results"]
    assert (good["ok"], good["runs"], good["class"], good["bucket_us"]) == (True, True, "window", 1_000_000)
    boxes = {box["name"]: box for box in good["boxes"]}
    assert boxes["connections"]["inputs"][0] == {"stream": "oslo", "required": False}
    assert boxes["per source"]["horizon_buckets"] == 5
    assert (boxes["connections"]["repeatable"], boxes["per source"]["repeatable"]) == (True, False)
    assert [p["line"] for p in bad["problems"]] == [6, 7]
    assert set(bad["problems"][0]) == {"what", "file", "line", "element", "allowed", "next"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\n", "defines no diagram"),
        ("import nowhere_at_all\n", "bad.py:1: the program stops with ModuleNotFoundError"),
        ("x = (\n", "bad.py:1: this is not Python"),
        ("\n1 / 0\n", "bad.py:2: the program stops with ZeroDivisionError"),
        ("raise SystemExit(0)\n", "stops with SystemExit: 0"),
        ("import auroral\nd = auroral.diagram('d', bucket=3)\n", "bad.py:2, diagram 'd': bucket=3"),
    ],
)
def test_programs_that_go_wrong(text: str, told: str, auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(text)
    ended = auroral("check", "bad.py")
    assert ended.code == 1
    assert told in ended.out
    assert "Traceback" not in ended.out + ended.err


@pytest.mark.parametrize("content", ["", "no xml", "<borealis>", "<other/>", "<borealis><box/></borealis>", "\0"])
def test_xml_that_is_none(content: str, auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text(content)
    ended = auroral("check", "bad.xml")
    assert ended.code == 1
    assert "bad.xml" in ended.out
    assert "Traceback" not in ended.out + ended.err


def test_a_file_that_is_not_there(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "there.xml").touch()
    ended = auroral("check", "their.xml")
    assert ended.code == 1
    assert "cannot be read" in ended.out and "there.xml" in ended.out


def test_a_program_may_print_and_import_what_is_beside_it(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("SCHEMA = 'v int'\n")
    (tmp_path / "d.py").write_text(
        "import auroral\nfrom beside_it import SCHEMA\nprint('hello')\n"
        "d = auroral.diagram('d')\nd.input('a', SCHEMA).filter('f', 'v > 1').output()\n"
        "if __name__ == '__main__':\n    raise AssertionError\n"
    )
    ended = auroral("check", "--json", "d.py")
    assert ended.code == 0
    assert json.loads(ended.out)["results"][0]["name"] == "d"
    assert "hello" in ended.err


def test_stime(auroral: Call) -> None:
    ended = auroral("check", "--json", EXAMPLES / "grid.xml", "--stime", "North=sec:ms")
    streams = {stream["name"]: stream for stream in json.loads(ended.out)["results"][0]["streams"]}
    assert streams["north"]["stime_field"] == "sec"
    assert auroral("check", EXAMPLES / "grid.xml", "--stime", "Nroth=sec").code == 2
    assert auroral("check", EXAMPLES / "grid.xml", "--stime", "north").code == 2
    assert auroral("check", EXAMPLES / "grid.xml", "--stime", "north=sec:h").code == 2
    assert auroral("check", EXAMPLES / "netmon.py", "--stime", "oslo=ts:ms").code == 2
    unknown = auroral("check", EXAMPLES / "grid.xml", "--stime", "north=sek")
    assert unknown.code == 1 and "did you mean 'sec'" in unknown.out


def test_what_does_not_run_yet_is_said(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "later.xml").write_text(
        '<borealis><schema name="s"><field name="t" type="int"/></schema><input stream="a" schema="s"/>'
        '<output stream="b" schema="s"/><query name="q"><box name="w" type="revisionfilter"><in stream="a"/>'
        '<out stream="b"/><parameter name="expression.0" value="t &gt; 1"/></box></query></borealis>'
    )
    ended = auroral("check", "later.xml")
    assert ended.code == 0
    assert "does not run yet" in ended.out and "revisionfilter" in ended.out
    assert auroral("explain", "later.xml").code == 0


def test_a_box_that_reads_the_clock_is_not_called_deterministic(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "clock.xml").write_text(
        '<borealis><schema name="s"><field name="t" type="int"/></schema><input stream="a" schema="s"/>'
        '<output stream="b"/><output stream="c"/><query name="q"><box name="m" type="map"><in stream="a"/><out stream="b"/>'
        '<parameter name="expression.0" value="now()"/><parameter name="output-field-name.0" value="when"/></box>'
        '<box name="f" type="filter"><in stream="a"/><out stream="c"/><parameter name="expression.0" value="t > 1"/></box>'
        "</query></borealis>"
    )
    ended = auroral("check", "--json", "clock.xml")
    (result,) = json.loads(ended.out)["results"]
    assert [(box["name"], box["deterministic"]) for box in result["boxes"]] == [("m", "no"), ("f", "yes")]


def test_what_was_passed_over_is_shown_beside_what_is_wrong(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "odd.xml").write_text('<borealis><shcema name="s"/><input stream="a" schema="s"/></borealis>')
    for command in (("check", "odd.xml"), ("explain", "odd.xml"), ("run", "odd.xml", "--input", "a=a.csv")):
        ended = auroral(*command)
        assert ended.code == 1
        assert "unknown schema 's'" in ended.out + ended.err
        assert "warning: odd.xml:1, shcema 's': unknown element 'shcema'" in ended.out + ended.err
    found = json.loads(auroral("check", "--json", "odd.xml").out)
    assert "did you mean 'schema'?" in [warning["next"] for warning in found["results"][0]["warnings"]]


def test_a_deployment_is_judged_as_a_whole_also_where_some_of_it_cannot_be_read(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "deploy.xml").write_text(
        '<deploy>\n<node endpoint="a:b:c" query="Watch Gird"/>\n<subscribe stream="deviatoins" gap="x"/>\n'
        '<publish stream="nroth"/>\n</deploy>'
    )
    ended = auroral("check", "--json", EXAMPLES / "grid.xml", "deploy.xml")
    problems = json.loads(ended.out)["results"][1]["problems"]
    assert ended.code == 1
    assert {(problem["line"], problem["what"]) for problem in problems} == {
        (2, "'a:b:c' is no endpoint"),
        (2, "unknown query 'Gird'"),
        (3, "gap is 'x'"),
        (3, "unknown stream 'deviatoins'"),
        (4, "unknown input stream 'nroth'"),
    }


REFUSED = """import auroral
d = auroral.diagram("d")
odd = d.input("odd", "v vector")
rows = d.input("rows", "v int, host string")
low, rest = rows.filter("low", 3, otherwise=True)
a, b, c = rows.split("parts", ["v > 1", "v > 2"], otherwise=True, on_error="halt")
on_time, late = rows.event_time_aggregate("w", {"n": "count()"}, on="v", window="x", lateness="1s", late="side")
rest.filter("behind", "v +")
rows.map("typed", {"x": "hots"})
rows.aggregate("lacks", {"n": "count()"})
late.output(availability="soon")
"""


def test_a_refused_argument_hides_no_later_error(auroral, tmp_path):
    (tmp_path / "refused.py").write_text(REFUSED)
    ended = auroral("check", "--json", "refused.py")
    (found,) = json.loads(ended.out)["results"]
    assert ended.code == 1 and [one["line"] for one in found["problems"]] == [3, 5, 6, 7, 8, 9, 10, 11]
    assert auroral("explain", "refused.py").code == 1


def test_what_was_refused_is_told_of_before_what_stops_the_program(auroral, tmp_path):
    (tmp_path / "stops.py").write_text(REFUSED + "1 / 0\n")
    ended = auroral("check", "stops.py")
    assert ended.code == 1 and "refused.py" not in ended.out
    assert ended.out.index("stops.py:3, input 'odd'") < ended.out.index("ZeroDivisionError")


def test_a_program_cannot_go_on_with_what_was_refused(auroral, tmp_path):
    (tmp_path / "checks.py").write_text(REFUSED.replace('{"x": "hots"}', '{"x": "v"}') + "d.check()\n")
    ended = auroral("check", "checks.py")
    assert ended.code == 1 and ended.out.count("'vector' is not a field type") == 1
