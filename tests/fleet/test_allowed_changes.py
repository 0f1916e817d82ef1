"""What a query of a deployment cannot be changed to, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import auroral
from auroral.dpc.assembly import Assembly
from auroral.model.checking import Checked
from auroral.node.fleet.changing import _loops, _problems
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.versions import add_versions, assembly_with_versions, fragment_of

DEPLOYED = '<deploy><node endpoint=":15000" query="front"/><node endpoint=":15100" query="back"/></deploy>'


def diagram(reads: Sequence[str] = ("a",), window: str = "2s", front: str = "a", bounds: str = "9s") -> Checked:
    d = auroral.diagram("d", bucket="1s")
    streams = {name: d.input(name, "n int") for name in ("a", "b", "unread")}
    with d.query("front"):
        streams["highs"] = streams[front].filter("highs", "n > 1").output(availability=bounds)
        streams["b"].filter("others", "n > 2").output(availability="9s")
    with d.query("back"):
        first, *more = (streams[name] for name in reads)
        read = first.union("both", *more) if more else first
        read.aggregate("sums", {"total": "sum(n)"}, window=window, advance="1s").output(availability="9s")
    return d.check()


def deployed(folder: Path, checked: Checked, **how: object) -> Deployed:
    return prepare(folder / "live", checked, DEPLOYED, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "bounds", "said"),
    [
        (diagram(("a", "b")), "9s", ()),
        (diagram(("highs",), "30s"), "9s", ()),
        (diagram(("b",)), "9s", ()),
        (diagram(("a", "unread")), "9s", ()),
        (
            diagram(("highs",)),
            "20s",
            ("sums would read highs, which may be held back for 20 s, and it itself only for 9 s",),
        ),
    ],
)
def test_a_query_may_read_what_somebody_gives(
    tmp_path: Path, wanted: Checked, bounds: str, said: tuple[str, ...]
) -> None:
    running = deployed(tmp_path, diagram(bounds=bounds))
    first, new = (fragment_of(cut, "back") for cut in (running.fragments, running.cut(wanted)))
    found = list(_problems(running, first, new))
    assert len(found) == len(said)
    assert all(text in problem for text, problem in zip(said, found, strict=True))


def test_what_an_earlier_version_read_counts_for_loops(tmp_path: Path) -> None:
    running = deployed(tmp_path, diagram())
    back = {"back": fragment_of(running.cut(diagram(("highs",))), "back")}
    nothing = {"added": {}, "wanted": []}
    assert not list(_loops(running, nothing, back))
    for found in (
        {"added": {"front": ["sums"]}, "wanted": []},
        {"added": {}, "wanted": [{"query": "front", "inputs": ["sums"]}]},
    ):
        (problem,) = _loops(running, found, back)
        assert "read from one another in a loop" in problem


def test_cores_are_made_with_what_versions_in_the_folder_read(tmp_path: Path) -> None:
    running = deployed(tmp_path, diagram())
    assert assembly_with_versions(running) == running.assembly
    add_versions(running.folder, diagram(("highs", "b"), "30s"), {"back": 1})
    found: Assembly = assembly_with_versions(running)
    assert found.later["back"][1]["sums"].reads == {"highs": 31, "b": 31}
    assert found.computed_from("sums") == ("a", "b")
