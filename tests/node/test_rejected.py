"""Rows that a box rejects, in a whole run: its ledger, its error stream, and the proof."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

import auroral
from auroral.edge.ledger import Reason
from auroral.model.expression import Functions
from auroral.model.expression.functions import make_function
from auroral.node.account import Account
from auroral.node.runfolder import RunFolder
from auroral.node.storeddiagram import RunFolderError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def checked(on_error: Literal["stop", "reject"] = "reject") -> auroral.Checked:
    def number(text: str | None) -> int | None:
        return None if text is None else int(text)

    d = auroral.diagram("texts", bucket="1s")
    texts = d.input("texts", "ts long, text string", stime="ts", unit="s")
    numbers = texts.map("numbers", {"n": "number(text)"}, on_error=on_error)
    numbers.aggregate("sums", {"n": "sum(n)"}, window="5s").output()
    if on_error == "reject":
        numbers.errors().output("not numbers")
    return d.check(Functions().plus(make_function("number", number, "string", "int")))


def test_a_run_that_stops_does_not_go_on_as_one_that_rejects(tmp_path: Path) -> None:
    RunFolder.claim(tmp_path, checked("stop"), {}, {}, False).close()
    with pytest.raises(RunFolderError, match="is a run of another diagram"):
        RunFolder.claim(tmp_path, checked("reject"), {}, {}, False)


@pytest.mark.spark
def test_rejected_rows_are_in_the_ledger_and_verified(tmp_path: Path, spark: "SparkSession") -> None:
    given = [{"ts": second, "text": "one" if second % 4 == 3 else str(second)} for second in range(20)]
    with auroral.run(checked(), folder=tmp_path / "run", session=spark) as app:
        for part in (given[:7], given[7:13], given[13:]):
            app.push("texts", part)
        app.close()
        app.await_termination()
        assert app.ledger.count("numbers", Reason.REJECTED) == 5
        errors = app.table("not numbers").to_pylist()
        said = "number: ValueError: invalid literal for int() with base 10: 'one'"
        assert [(row["ts"], row["text"], row["error"]) for row in errors] == [(s, "one", said) for s in range(3, 20, 4)]
    report = auroral.verify(tmp_path / "run", session=spark)
    assert report.ok
    assert [
        (line.found, line.expected) for line in report.ledger if "numbers" in line.what and "rejected" in line.what
    ] == [(5, 5)]
    account = Account.load(tmp_path / "run" / "ledger.json")
    Account.save(
        account.evaluated(account.frontier or 0, 0, {("numbers", "rejected"): 1}), tmp_path / "run" / "ledger.json"
    )
    assert not auroral.verify(tmp_path / "run", session=spark).ok
