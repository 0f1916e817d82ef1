"""The course of a run: what is written is read again, it does not grow with the run, and nothing fails because of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from auroral.model.errors import AuroralError
from auroral.node.course import FILE, MOST_SLOTS, MOST_SPELLS, WHOLE, CourseWriter, courses_in
from auroral.node.fleet.deliverycourse import DeliveryCourse


def test_slots_and_spells_are_read_as_they_were_written(tmp_path: Path) -> None:
    writer = CourseWriter(tmp_path)
    writer.add("s", 100.2, {"stable": 1}, delay=0.5)
    writer.add("s", 100.9, {"stable": 2}, delay=0.2)
    writer.begin("s", 101.0)
    writer.add("t", 101.5, {"stable": 1})
    writer.flush()
    writer.add("s", 100.95, {"missed": 4})
    writer.end("s", 101.0, 103.5, corrected=2)
    writer.flush()
    found = courses_in(tmp_path)
    assert found["s"].slots[100].counts == {"stable": 3, "missed": 4} and found["s"].slots[100].highest == {
        "delay": 0.5
    }
    assert [(one.began, one.ended, one.said) for one in found["s"].spells] == [(101.0, 103.5, {"corrected": 2})]
    assert found["t"].total().counts == {"stable": 1} and found["t"].lasting is None


def test_the_file_does_not_grow_with_the_run_and_counts_all_of_it(tmp_path: Path) -> None:
    writer = CourseWriter(tmp_path)
    for second in range(12_000):
        writer.add("s", float(second), {"stable": 1}, delay=second / 1e4)
        if second % 10 == 0:
            writer.begin("s", float(second))
            writer.end("s", float(second), second + 2.0, corrected=1)
    writer.flush()
    assert (tmp_path / FILE).stat().st_size < 500_000
    (found,) = courses_in(tmp_path).values()
    assert len(found.slots) <= MOST_SLOTS and found.length == 32.0
    assert found.total().counts["stable"] == 12_000 and found.total().highest == {"delay": 1.1999}
    assert len(found.spells) == MOST_SPELLS and found.spells[-1].began == 11_990.0
    assert found.earlier == 1_200 - MOST_SPELLS and found.earlier_seconds == 2.0 * found.earlier


def test_a_writer_goes_on_behind_one_that_was_killed(tmp_path: Path) -> None:
    first = CourseWriter(tmp_path)
    first.add("s", 1.0, {"stable": 1})
    first.begin("s", 2.0)
    first.flush()
    with (tmp_path / FILE).open("ab") as opened:
        opened.write(b'{"of": "s", "at": 3')
    second = CourseWriter(tmp_path)
    assert second.courses["s"].lasting is not None
    second.add("s", 4.0, {"stable": 1})
    second.flush()
    assert courses_in(tmp_path)["s"].total().counts == {"stable": 2}


def test_lines_that_are_none_are_passed_over(tmp_path: Path) -> None:
    lines = ["[]", "{}", '{"of": "s"}', '{"of": "s", "at": "x", "counts": {}, "highest": {}}', '"of"', "\x00"]
    (tmp_path / FILE).write_text("\n".join([*lines, '{"of": "s", "at": 1, "counts": {"stable": 1}, "highest": {}}']))
    assert courses_in(tmp_path)["s"].total().counts == {"stable": 1}


def test_a_disk_that_takes_nothing_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = CourseWriter(tmp_path / "not there")
    for second in range(5):
        writer.add(WHOLE, float(second), {"in": 1})
    writer.flush()
    assert len(caplog.records) == 1 and "a report will lack" in caplog.text


def test_one_that_cannot_be_read_keeps_no_run_from_its_work(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE).mkdir()
    CourseWriter(tmp_path).begin(WHOLE, 1.0)
    assert len(caplog.records) == 1 and "cannot be read" in caplog.text
    with pytest.raises(AuroralError, match="only reports need it"):
        courses_in(tmp_path)


def test_lives_that_all_were_killed_are_not_kept_for_ever(tmp_path: Path) -> None:
    for life in range(MOST_SPELLS + 5):
        CourseWriter(tmp_path).begin(WHOLE, float(life))
    found = courses_in(tmp_path)[WHOLE]
    assert len(found.spells) == MOST_SPELLS and found.earlier == 5 and found.lasting is not None


# What a client writes down


@pytest.fixture
def writer(tmp_path: Path) -> CourseWriter:
    return CourseWriter(tmp_path)


def deliver(
    course: DeliveryCourse, bucket: int, kind: str, at: float, delay: float | None = None, **lacks: str
) -> None:
    course.delivered("s", bucket, kind, 3, at, delay, {"oslo": "complete", **lacks})


def test_a_spell_lasts_until_nothing_is_tentative(tmp_path: Path, writer: CourseWriter) -> None:
    course = DeliveryCourse(writer)
    deliver(course, 0, "stable", 10.0, 0.1)
    deliver(course, 1, "tentative", 14.0, 4.0, lima="partial")
    deliver(course, 2, "tentative", 15.0, 0.2, lima="missing")
    deliver(course, 2, "tentative", 15.5, None, lima="partial")
    deliver(course, 1, "corrected", 20.0)
    assert courses_in(tmp_path)["s"].lasting is not None
    deliver(course, 2, "confirmed", 21.0)
    deliver(course, 3, "stable", 22.0, 0.1)
    writer.flush()
    found = courses_in(tmp_path)["s"]
    (spell,) = found.spells
    assert (spell.began, spell.ended) == (14.0, 21.0)
    assert spell.said == {
        "tentative": 2,
        "tentative rows": 6,
        "again": 1,
        "corrected": 1,
        "confirmed": 1,
        "lacked": {"lima": "missing"},
    }
    total = found.total()
    assert total.highest == {"delay": 4.0, "tentative for": 6.0}
    assert {k: v for k, v in total.counts.items() if "rows" not in k} == {
        "stable": 2,
        "tentative": 2,
        "again": 1,
        "corrected": 1,
        "confirmed": 1,
    }


def test_what_is_lost_in_a_gap_is_tentative_no_more(tmp_path: Path, writer: CourseWriter) -> None:
    course = DeliveryCourse(writer)
    deliver(course, 5, "tentative", 1.0)
    course.missed("s", 3, 8, 9.0)
    course.missed("s", 8, 9, 10.0)
    writer.flush()
    found = courses_in(tmp_path)["s"]
    assert found.spells[0].ended == 9.0 and found.spells[0].said["missed"] == 1
    assert found.total().counts["missed"] == 6


def test_a_client_that_was_killed_says_that_it_does_not_know_all(tmp_path: Path, writer: CourseWriter) -> None:
    deliver(DeliveryCourse(writer), 1, "tentative", 5.0)
    writer.flush()
    again = CourseWriter(tmp_path)
    course = DeliveryCourse(again)
    deliver(course, 2, "tentative", 8.0)
    deliver(course, 2, "corrected", 9.0)
    again.flush()
    (spell,) = courses_in(tmp_path)["s"].spells
    assert (spell.began, spell.ended, spell.said["earlier_life"], spell.said["tentative"]) == (5.0, 9.0, True, 1)
    assert all(json.loads(line) for line in (tmp_path / FILE).read_text().splitlines() if line)
