"""What the catalog keeps, in SQLite and in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from auroral.dpc.events import KeepLayout
from auroral.dpc.layout import Layout, Phase, Wanted
from auroral.dpc.versions import Decision
from auroral.model.errors import AuroralError
from auroral.node.fleet.catalog import MOST_HISTORY, Catalog, CatalogAway, CatalogStore
from auroral.node.store.layouts import layout_from_json, layout_to_json
from edge.postgresql import Server

FIRST = Layout({"q": ("q@a", "q@b")})
MOVING = replace(FIRST, number=1, moving="q", after=("q@c", "q@b"), wanted=(Wanted("q", inputs=("s", "t")),))
MOVED = replace(
    FIRST, number=4, members={"q": ("q@c", "q@b")}, versions={"q": Decision((0, 7), 2)}, phase=Phase.PREPARE
)
MOVED = replace(MOVED, added={"q": ("s", "t")})


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "catalog.db")
    found: Server = request.getfixturevalue("server")
    drop = Catalog(found.address, "")
    with drop._writing() as write:
        for name in ("deployments", "diagrams", "locations", "states", "layouts", "history"):
            write(f"drop table if exists auroral_{name}")
    drop.close()
    return found.address


def opened(address: str, deployment: str = "one") -> Catalog:
    found = Catalog(address, deployment)
    found.begin(Path("/somewhere"), "{}", ["box a", "box b"], {"a": "127.0.0.1:1"})
    return found


def test_what_is_kept_is_found_by_the_next_life(address: str, tmp_path: Path) -> None:
    first = opened(address)
    assert first.layout is None
    store = CatalogStore(first, tmp_path / "layout.json")
    store.carry_out([KeepLayout(MOVING)])
    store.carry_out([KeepLayout(MOVED)])
    first.seen({("a", "s"): "STABLE", ("b", ""): "DOWN"})
    first.changed(1, "box c")
    first.locate({"c": "127.0.0.1:2"})
    first.close()
    second = opened(address)
    assert second.layout == MOVED
    found = second.everything()
    assert [(row["version"], row["words"]) for row in found["diagrams"]] == [(0, "box a\nbox b"), (1, "box c")]
    assert {row["process"]: row["endpoint"] for row in found["locations"]} == {"a": "127.0.0.1:1", "c": "127.0.0.1:2"}
    assert {(row["process"], row["stream"], row["state"]) for row in found["states"]} == {
        ("a", "s", "STABLE"),
        ("b", "", "DOWN"),
    }
    assert [(row["what"], row["detail"]) for row in found["history"]] == [
        ("move begins", "q: q@a, q@b to q@c, q@b"),
        ("move ends", "q: q@c, q@b"),
        ("reads more", "q: s, t, for version 2"),
        ("changed", "q: version 1 from bucket 7 on"),
        ("state", "a s STABLE"),
        ("state", "b DOWN"),
    ]
    second.close()


def test_a_layout_from_before_versions_could_read_more_is_read() -> None:
    stored = json.loads(json.dumps(layout_to_json(MOVING)))
    del stored["added"]
    stored["wanted"] = [wanted[:3] for wanted in stored["wanted"]]
    assert layout_from_json(stored) == replace(MOVING, wanted=(Wanted("q"),))


def test_the_copy_is_mended_when_the_catalog_comes_back(address: str, tmp_path: Path) -> None:
    """Killed between the database and the copy."""
    copy = tmp_path / "layout.json"
    first = opened(address)
    CatalogStore(first, copy).carry_out([KeepLayout(MOVING)])
    first.keep(MOVED)
    assert layout_from_json(json.loads(copy.read_text())) == MOVING
    assert CatalogStore(first, copy).started() == MOVED
    assert layout_from_json(json.loads(copy.read_text())) == MOVED
    first.close()


def test_a_database_that_was_lost_or_set_back_does_not_undo_what_was_decided(address: str, tmp_path: Path) -> None:
    copy = tmp_path / "layout.json"
    first = opened(address)
    CatalogStore(first, copy).carry_out([KeepLayout(MOVED)])
    first.close()
    for fresh in (opened(address, "another"), opened(address)):
        if fresh.deployment == "one":
            with fresh._writing() as write:
                write("update auroral_layouts set layout = ?", json.dumps(layout_to_json(MOVING)))
        assert CatalogStore(fresh, copy).started() == MOVED == fresh.layout
        assert layout_from_json(json.loads(copy.read_text())) == MOVED
        with pytest.raises(AuroralError, match="has a newer layout"):
            fresh.keep(MOVING)
        fresh.close()


def test_deployments_in_one_database_do_not_see_one_another(address: str) -> None:
    one, other = opened(address, "one"), opened(address, "other")
    one.keep(MOVED)
    assert other.layout is None and other.everything()["history"] == []
    one.close()
    other.close()


def test_history_is_bounded(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auroral.node.fleet.catalog.MOST_HISTORY", 5)
    assert MOST_HISTORY > 5
    catalog = opened(address)
    for number in range(9):
        catalog.seen({("a", ""): str(number)})
    assert [row["detail"] for row in catalog.everything()["history"]] == [f"a {n}" for n in range(4, 9)]
    catalog.close()


def test_a_server_that_was_away_is_used_again(server: Server) -> None:
    catalog = opened(server.address, "away")
    server.stop()
    with pytest.raises(CatalogAway):
        catalog.keep(MOVING)
    server.start()
    assert catalog.layout is None
    catalog.keep(MOVED)
    assert catalog.layout == MOVED
    catalog.close()


def test_a_database_that_cannot_be_used_is_said_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(CatalogAway, match=r"cannot be used(.|\n)*next: check that the database runs"):
        opened(str(tmp_path / "nowhere" / "catalog.db"))
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'auroral[postgresql]'")
    with pytest.raises(CatalogAway) as failed:
        opened("postgresql://me:secret@127.0.0.1:1/none")
    assert "me@127.0.0.1:1/none" in str(failed.value) and "secret" not in str(failed.value)
