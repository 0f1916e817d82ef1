"""The diagram under failures, in virtual time: no Spark is started, and two minutes pass in a second."""

from pathlib import Path

from diagram import calls

import auroral
from auroral.sim import under_failures

DATA = Path(__file__).parent / "data"
ROWS = {
    site: auroral.read_rows(DATA / f"{site}.csv", "ts timestamp, page string, ms double") for site in ("east", "west")
}


def test_while_west_is_silent_answers_are_of_east_alone_and_all_of_them_are_corrected():
    calm = under_failures(calls, ROWS)
    assert not calm.tentative

    tried = under_failures(calls, ROWS, "at 10s silence west; at 25s resume west")
    assert tried.ok, tried.violations
    assert any(answer.rows for answer in tried.tentative)
    assert tried.rows("pages") == calm.rows("pages")
