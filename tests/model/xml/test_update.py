"""Update files: what is to be changed in a diagram that runs (X9)."""

from __future__ import annotations

import pytest

from auroral.model.checking import check
from auroral.model.diagram import Diagram
from auroral.model.errors import DiagramError
from auroral.model.xml import read_diagram
from auroral.model.xml.update import Move, is_update, read_update

WHOLE = """<borealis>
  <schema name="Row"><field name="n" type="int"/></schema>
  <input stream="east" schema="Row"/><input stream="west" schema="Row"/>
  <query name="Merge">
    <box name="Both" type="union"><in stream="east"/><in stream="west"/><out stream="all"/></box>
    <box name="high" type="filter"><in stream="all"/><out stream="some"/><parameter name="expression.0" value="n &gt; 2"/></box>
  </query>
  <box name="alone" type="filter"><in stream="west"/><out stream="few"/><parameter name="expression.0" value="n &gt; 3"/></box>
  <output stream="some"/>
</borealis>"""
LOW = """<query name="Merge"><box name="low" type="filter"><in stream="all"/><out stream="some"/>
  <parameter name="expression.0" value="n &lt; 2"/></box></query>"""


def updated(*updates: str) -> Diagram:
    edits = [
        edit for update in updates for edit in read_update(f"<borealis>{update}</borealis>".encode(), "u.xml").edits
    ]
    return check(read_diagram(WHOLE, "whole.xml", changes=edits).diagram).diagram


def boxes(diagram: Diagram) -> dict[str, list[str]]:
    return {query.name: [box.name for box in query.boxes] for query in diagram.queries}


def test_a_box_is_taken_out_and_another_one_comes():
    assert boxes(updated('<disconnect box="HIGH"/>', LOW)) == {"Merge": ["both", "low"], "alone": ["alone"]}


def test_a_port_reads_another_stream():
    changed = updated('<connect box="high" stream="west"/><connect box="both" stream="west" port="0"/>')
    assert [box.inputs for box in changed.boxes] == [("west", "west"), ("west",), ("west",)]


@pytest.mark.parametrize("gone", ['<delete query="alone"/>', '<disconnect box="alone"/>'])
def test_a_query_is_taken_out(gone):
    assert boxes(updated(gone)) == {"Merge": ["both", "high"]}
    assert "Merge" not in boxes(updated('<delete query="Merge"/>', LOW.replace("all", "west").replace("Merge", "New")))


def test_what_was_modified_before_is_gone_with_its_box():
    modified = '<modify box="high"><parameter name="expression.0" value="n &gt; 7"/></modify>'
    again = LOW.replace('"low"', '"high"')
    one, other = updated(modified, '<disconnect box="high"/>', again), updated('<disconnect box="high"/>', again)
    assert one == other


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ('<disconnect box="hihg"/>', "u.xml:1, (.|\n)*unknown box 'hihg'(.|\n)*did you mean 'high'"),
        ('<delete query="merge"/>', "unknown query 'merge'(.|\n)*did you mean 'Merge'"),
        ('<delete box="high"/>', "<delete> needs the attribute 'query'"),
        ('<connect box="hihg" stream="west"/>', "unknown box 'hihg'"),
        ('<connect box="high" stream="wset"/>', "unknown stream 'wset'|reads stream 'wset'"),
        ('<connect box="high" stream="west" port="4"/>', "port is '4'"),
        ('<connect stream="west"/>', "<connect> needs the attribute 'box'"),
        ('<disconnect box="high"/>', "whole.xml:9, output 'some': unknown stream"),
        ('<move node="na"/>', "<move> has 0 of the attributes box and query"),
        ('<subscribe stream="some"/><modify box="high"/>', "<subscribe>"),
    ],
)
def test_what_cannot_be(update, said):
    with pytest.raises(DiagramError, match=said):
        updated(update)


def test_moves_are_no_change_of_the_diagram():
    text = b'<borealis><move box="High" node="nc" from="na"/><move query="Merge" node="nb"/></borealis>'
    update = read_update(text, "u.xml")
    assert update.edits == ()
    assert update.moves == (Move("nc", box="high", leaves="na"), Move("nb", query="Merge"))


@pytest.mark.parametrize(
    ("text", "whether"),
    [
        ('<disconnect box="high"/>', True),
        (f'<borealis>{LOW}<disconnect box="high"/></borealis>', True),
        (WHOLE, False),
        (WHOLE.replace("</borealis>", '<modify box="high"/></borealis>'), False),
    ],
)
def test_an_update_is_known_by_what_it_has(text, whether):
    assert is_update(text.encode(), "u.xml") is whether
