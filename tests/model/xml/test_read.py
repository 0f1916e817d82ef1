"""Untrusted text: a tree, or an error with file and line."""

import pytest

from auroral.model.errors import DiagramError, Problem
from auroral.model.xml import read, read_deployment, read_diagram
from auroral.model.xml.read import read_xml


def refused(text: str | bytes) -> Problem:
    with pytest.raises(DiagramError) as caught:
        read_diagram(text, "f.xml")
    (problem,) = caught.value.problems
    assert problem.place.file == "f.xml"
    return problem


def test_lines_and_labels() -> None:
    root = read_xml('<?xml version="1.0"?>\n<borealis>\n\n<box\n name="x">\n<in stream="s"/></box></borealis>')
    box = root.children[0]
    assert (root.line, box.line, box.children[0].line) == (2, 4, 6)
    assert (box.label, box.children[0].label) == ("box 'x'", "box 'x', in 's'")


def test_empty_diagram_loads() -> None:
    loaded = read_diagram("<borealis/>")
    assert loaded.diagram.name == "diagram"
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("   \n  ", 2),
        ("nothing of the sort", 1),
        ("<borealis>\n<query name='q'>", 2),
        ("<borealis>\n</boreal>", 2),
        ("<borealis>\n<box name='a' name='b'/></borealis>", 2),
        ("<borealis>\n\n&nbsp;</borealis>", 3),
        ("<borealis/><borealis/>", 1),
        (b"\x00\x01\x02PAR1\xff", 1),
        (b"PK\x03\x04" + bytes(range(256)), 2),
        ("<borealis>\n\x00</borealis>", 2),
        ("<borealis>\n\ud800</borealis>", 2),
        ("<borealis><input stream='", 1),
    ],
)
def test_malformed(text: str | bytes, line: int) -> None:
    assert refused(text).place.line == line


@pytest.mark.parametrize("doctype", ['SYSTEM "borealis.dtd"', 'PUBLIC "-//X//Y" "http://nowhere.invalid/x.dtd"'])
def test_a_doctype_is_tolerated_and_not_fetched(doctype: str) -> None:
    assert read_diagram(f"<!DOCTYPE borealis {doctype}><borealis/>").diagram.queries == ()


def test_a_doctype_adds_no_attributes() -> None:
    text = "<!DOCTYPE borealis [<!ATTLIST borealis queue_type CDATA '99'>]><borealis/>"
    assert read_diagram(text).diagram.queue.queue_type is None


def test_entities_are_refused() -> None:
    bomb = "<!DOCTYPE b [<!ENTITY a 'ha'>\n"
    for n in range(1, 12):
        bomb += f"<!ENTITY a{n} '" + f"&a{n - 1};" * 10 + "'>\n"
    problem = refused(bomb + "]><borealis>&a11;</borealis>")
    assert "declares the entity 'a'" in problem.what
    assert problem.place.line == 1


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % x SYSTEM "http://nowhere.invalid/x.dtd"> %x;',
        '<!ENTITY x PUBLIC "p" "file:///etc/passwd" NDATA n>',
    ],
)
def test_external_entities_are_refused(declaration: str) -> None:
    refused(f"<!DOCTYPE borealis [{declaration}]>\n<borealis>&x;</borealis>")


def test_entities_of_an_unread_dtd_are_not_skipped_silently() -> None:
    text = '<!DOCTYPE borealis SYSTEM "x.dtd">\n<!-- &fine; -->\n<borealis>\n<box name="&x;y"/></borealis>'
    problem = refused(text)
    assert "'&x;'" in problem.what
    assert problem.place.line == 4


def test_predefined_entities_and_character_references() -> None:
    text = '<!DOCTYPE a SYSTEM "x.dtd"><a b="&lt;&#65;&amp;&quot;"/>'
    assert read_xml(text).attributes == {"b": '<A&"'}


def test_too_large() -> None:
    assert "bytes" in refused(b" " * (read.MAX_BYTES + 1)).what


def test_too_deep() -> None:
    problem = refused("<borealis>" + "\n<query>" * 100_000)
    assert "nested" in problem.what
    assert problem.place.line == 65


def test_too_many_elements() -> None:
    assert "too many" in refused("<borealis>" + "<a/>" * (read.MAX_ELEMENTS + 1) + "</borealis>").what


def test_too_long_or_too_many_attributes() -> None:
    assert "attribute 'key'" in refused(f"<borealis key='{'x' * (read.MAX_ATTRIBUTE_LENGTH + 1)}'/>").what
    many = " ".join(f"a{n}=''" for n in range(101))
    assert "attributes" in refused(f"<borealis {many}/>").what


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "utf-8-sig", "Latin-1", "windows-1252"])
def test_encodings(encoding: str) -> None:
    declared = encoding.replace("-sig", "")
    text = f'<?xml version="1.0" encoding="{declared}"?><borealis><query name="Zürich"/></borealis>'
    assert read_diagram(text.encode(encoding)).diagram.queries[0].name == "Zürich"
    assert read_diagram(text).diagram.queries[0].name == "Zürich"


def test_wrong_encoding() -> None:
    problem = refused(b"<borealis>\n\xff\xfe</borealis>")
    assert problem.what == "the text is not utf-8"
    assert problem.place.line == 2
    assert "unknown encoding 'rot13'" in refused(b'<?xml version="1.0" encoding="rot13"?><borealis/>').what
    refused(b'<?xml version="1.0" encoding="utf-16"?><borealis/>x')
    refused(b'<?xml version="1.0" encoding="us-ascii"?><borealis>\xe9</borealis>')


def test_roots() -> None:
    assert "a deployment, not a diagram" in refused("<deploy/>").what
    with pytest.raises(DiagramError, match="a diagram, not a deployment"):
        read_deployment("<borealis/>")
    for tag in ("gen_info", "distribution"):
        generated = refused(f"<{tag}/>")
        assert "load generator" in generated.what and "--input" in (generated.next_step or "")
    change = refused("<disconnect box='x'/>")
    assert "running diagram" in change.what and "the diagram's own file" in (change.next_step or "")
    unknown = refused("\n<boreals/>")
    assert unknown.next_step == "did you mean 'borealis'?"
    assert unknown.allowed is not None
    assert "deploy" in unknown.allowed
    assert unknown.place.line == 2


def test_a_file_that_is_something_else_says_what_a_diagram_is() -> None:
    with pytest.raises(DiagramError) as caught:
        read_xml(b"ts,k,v\n2026-03-01T12:00:00Z,a,1\n", "rows.csv")
    (problem,) = caught.value.problems
    assert "which begins with <" in (problem.next_step or "")
