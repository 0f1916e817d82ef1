"""A run of which an input gave not one row ends loudly."""

from pathlib import Path

import pytest

from auroral.node.handle import NothingTaken
from node.test_continuing import start


def test_an_input_of_which_every_row_was_refused_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,v\nx,1\ny,2\n")
    app = start(tmp_path / "run", str(tmp_path / "a.csv"))
    with pytest.warns(NothingTaken, match="no row of input 's' was taken"):
        assert app.await_termination()
    (note,) = app.untaken
    assert "2 refused" in note and "a.csv:2" in note and "'x' is no long" in note
    assert note in app.status.notes


def test_an_input_with_some_rows_or_none_at_all_is_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,v\nx,1\n5,2\n")
    (tmp_path / "b.csv").write_text("ts,v\n")
    for name in ("a", "b"):
        app = start(tmp_path / name, str(tmp_path / f"{name}.csv"))
        assert app.await_termination()
        assert app.untaken == []
