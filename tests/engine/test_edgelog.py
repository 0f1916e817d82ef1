"""The edge log: versions, spilling, compaction, collection, damage."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.engine.edgelog import STABLE, DamagedSegment, EdgeLog, Segment, Tentative, cut_up, parquet_segment
from auroral.engine.relations import Edge
from auroral.engine.sqltext import STIME, Column

EDGE = Edge("kept rows", (Column(STIME, "BIGINT"), Column("v", "STRING")), past=20)


def table(*rows: tuple[int, str]) -> pa.Table:
    stimes, values = [r[0] for r in rows], [r[1] for r in rows]
    return pa.table({STIME: pa.array(stimes, pa.int64()), "v": pa.array(values, pa.string())})


def segment(lo: int, hi: int, text: str = "v", version=STABLE) -> Segment:
    """A row at each stime."""
    rows = table(*((stime, text) for stime in range(lo, hi)))
    return Segment(lo, hi, version, rows.num_rows, rows)


def log_of(folder: Path, *segments: Segment, **options) -> EdgeLog:
    log = EdgeLog(folder, **options)
    for each in segments:
        log.append(EDGE, each)
    return log


def read(log: EdgeLog, lo: int, hi: int) -> str:
    """One letter for each stime, in order."""
    rows = sorted(log.read(EDGE, lo, hi).to_pylist(), key=lambda row: row[STIME])
    return "".join(row["v"] for row in rows)


class TestVersions:
    def test_rows_outside_the_range_stay_in_their_segments(self, tmp_path):
        assert read(log_of(tmp_path, segment(0, 3, "a"), segment(3, 6, "b"), segment(6, 9, "c")), 2, 7) == "abbbc"
        assert read(log_of(tmp_path), 0, 10) == ""

    def test_stable_wins_whichever_came_first(self, tmp_path):
        tentative = segment(0, 3, "t", Tentative("p", 9, 9))
        assert read(log_of(tmp_path, tentative, segment(0, 3, "s")), 0, 3) == "sss"
        assert read(log_of(tmp_path, segment(0, 3, "s"), tentative), 0, 3) == "sss"

    def test_the_highest_revision_of_the_newest_epoch(self, tmp_path):
        versions = [(1, 7, "x"), (2, 1, "y"), (2, 3, "z"), (2, 2, "w")]
        log = log_of(tmp_path, *(segment(0, 3, text, Tentative("p", e, r)) for e, r, text in versions))
        assert read(log, 0, 3) == "zzz"

    def test_tentative_fills_what_is_not_yet_stable(self, tmp_path):
        log = log_of(tmp_path, segment(0, 3, "s"), segment(3, 6, "t", Tentative("p", 1, 0)))
        assert read(log, 0, 9) == "sssttt"

    def test_a_stable_version_replaces_the_tentative_ones_in_its_range(self, tmp_path):
        log = log_of(tmp_path, segment(0, 3, "t", Tentative("p", 1, 0)), segment(3, 6, "u", Tentative("p", 1, 0)))
        log.append(EDGE, segment(0, 3, "s"))
        assert [type(s.version).__name__ for s in log.segments(EDGE)] == ["Stable", "Tentative"]
        assert read(log, 0, 6) == "sssuuu"

    def test_a_stable_range_inside_a_longer_tentative_one(self, tmp_path):
        """What is stable counts from its range, what is tentative from the rest of its own."""
        log = log_of(tmp_path, segment(0, 9, "t", Tentative("p", 1, 0)), segment(3, 6, "s"))
        assert read(log, 0, 9) == "tttsssttt"

    def test_several_stable_ranges_together_replace_a_longer_tentative_one(self, tmp_path):
        log = log_of(tmp_path, segment(0, 9, "t", Tentative("p", 1, 0)), segment(0, 3, "a"), segment(6, 9, "c"))
        assert len(log.segments(EDGE)) == 3 and read(log, 0, 9) == "aaatttccc"
        log.append(EDGE, segment(3, 6, "b"))
        assert len(log.segments(EDGE)) == 3 and read(log, 0, 9) == "aaabbbccc"

    def test_a_newer_tentative_range_inside_an_older_one(self, tmp_path):
        log = log_of(tmp_path, segment(0, 9, "o", Tentative("p", 1, 0)), segment(3, 6, "n", Tentative("p", 1, 1)))
        assert read(log, 0, 9) == "ooonnnooo"

    def test_a_stable_range_without_rows_is_not_missing(self, tmp_path):
        log = log_of(tmp_path, segment(0, 3, "t", Tentative("p", 1, 0)), Segment(0, 3, STABLE, 0, table()))
        assert read(log, 0, 3) == ""

    @pytest.mark.parametrize("other", [(0, 3), (2, 4), (1, 2), (-5, 1), (-5, 20)])
    def test_stable_ranges_may_not_overlap(self, tmp_path, other):
        log = log_of(tmp_path, segment(0, 3), segment(10, 13))
        with pytest.raises(ValueError, match=r"kept rows: stable .* overlaps stable \[0, 3\)"):
            log.append(EDGE, segment(*other))
        assert read(log, -5, 20) == "v" * 6

    @given(
        st.lists(st.tuples(st.integers(0, 15), st.integers(1, 6), st.integers(1, 3), st.integers(0, 3)), max_size=8),
        st.lists(st.integers(0, 20), unique=True, min_size=2, max_size=6),
    )
    def test_each_stime_has_its_best_version(self, tmp_path_factory, tentative, edges):
        """By definition, stime by stime."""
        log = EdgeLog(tmp_path_factory.getbasetemp())
        best: dict[int, tuple] = {}
        for position, (lo, length, epoch, revision) in enumerate(tentative):
            text = chr(ord("a") + position)
            if (epoch, revision) in [(e, r) for _, _, e, r in tentative[:position]]:
                continue  # a version of a bucket has one content
            log.append(EDGE, segment(lo, lo + length, text, Tentative("p", epoch, revision)))
            for stime in range(lo, lo + length):
                best[stime] = max(best.get(stime, (0, 0, 0, "")), (0, epoch, revision, text))
        edges = sorted(edges)
        for lo, hi in list(pairwise(edges))[::2]:
            log.append(EDGE, segment(lo, hi, "S"))
            best.update(dict.fromkeys(range(lo, hi), (1, 0, 0, "S")))
        assert read(log, 0, 30) == "".join(best[stime][3] for stime in sorted(best))


class TestSpilling:
    def test_over_the_limit_the_largest_go_to_files(self, tmp_path):
        log = log_of(tmp_path, segment(0, 5, "a"), segment(5, 500, "b" * 20), segment(500, 505, "c"), memory_limit=5000)
        spilled = [s for s in log.segments(EDGE) if s.files]
        assert [(s.lo, s.hi, s.rows, s.table) for s in spilled] == [(5, 500, 495, None)]
        assert len(list(tmp_path.glob("*.parquet"))) == 1
        rows = log.read(EDGE, 0, 505)
        assert rows.num_rows == 505 and rows.schema == table().schema

    def test_files_go_with_their_segments(self, tmp_path):
        log = log_of(tmp_path, *(segment(i * 100, i * 100 + 100, "x" * 30) for i in range(5)), memory_limit=4000)
        assert list(tmp_path.glob("*.parquet"))
        log.collect(EDGE, 500)
        assert not list(tmp_path.glob("*.parquet")) and not log.segments(EDGE)

    def test_tentative_segments_count_and_spill_too(self, tmp_path):
        log = EdgeLog(tmp_path, memory_limit=4000)
        for revision in range(5):
            log.append(EDGE, segment(0, 100, "x" * 30, Tentative("p", 1, revision)))
        assert any(s.files for s in log.segments(EDGE))
        assert log.read(EDGE, 0, 100).num_rows == 100

    def test_a_damaged_segment_is_refused_by_name(self, tmp_path):
        log = log_of(tmp_path, segment(0, 300, "x" * 30), memory_limit=1000)
        (path,) = tmp_path.glob("*.parquet")
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        with pytest.raises(DamagedSegment, match=r"(?s)kept_rows-1\.parquet.*'kept rows'.* 0 to 300 .*damaged.*next:"):
            log.read(EDGE, 0, 10)

    @pytest.mark.parametrize("harm", [lambda p: p.unlink(), lambda p: p.write_bytes(p.read_bytes()[:-9])])
    def test_a_missing_or_half_written_segment_is_refused_by_name(self, tmp_path, harm):
        log = log_of(tmp_path, segment(0, 300, "x" * 30), memory_limit=1000)
        (path,) = tmp_path.glob("*.parquet")
        harm(path)
        with pytest.raises(DamagedSegment, match=r"kept_rows-1\.parquet.*'kept rows'.* 0 to 300 "):
            log.read(EDGE, 0, 10)


class TestCompaction:
    def test_many_segments_become_few_with_the_same_rows(self, tmp_path):
        log = log_of(tmp_path, *(segment(i, i + 1, chr(65 + i % 26)) for i in range(100)))
        before = read(log, 0, 100)
        log.compact(EDGE, most=16)
        assert len(log.segments(EDGE)) <= 93
        for _ in range(20):
            log.compact(EDGE, most=16)
        assert len(log.segments(EDGE)) <= 16
        assert read(log, 0, 100) == before

    def test_a_gap_stays_open(self, tmp_path):
        """A range without rows is a segment without rows; where there is none, one may still come."""
        log = log_of(tmp_path, *(segment(i, i + 1, "v") for i in range(100) if i != 5))
        for _ in range(20):
            log.compact(EDGE, most=16)
        log.append(EDGE, segment(5, 6, "late"))
        assert read(log, 0, 100).count("v") == 99 and log.read(EDGE, 5, 6).num_rows == 1

    def test_few_segments_stay_as_they_are(self, tmp_path):
        log = log_of(tmp_path, *(segment(i, i + 1) for i in range(10)))
        log.compact(EDGE, most=16)
        assert len(log.segments(EDGE)) == 10

    def test_spilled_segments_are_merged_and_their_files_removed(self, tmp_path):
        log = log_of(tmp_path, *(segment(i * 50, i * 50 + 50, "x" * 40) for i in range(20)), memory_limit=9000)
        log.compact(EDGE, most=4)
        held = [path for s in log.segments(EDGE) for path, _ in s.files]
        assert sorted(held) == sorted(map(str, tmp_path.glob("*.parquet")))
        assert log.read(EDGE, 0, 1000).num_rows == 1000


class TestCollection:
    def test_only_whole_segments_below_the_horizon_go(self, tmp_path):
        log = log_of(tmp_path, segment(0, 3, "a"), segment(3, 6, "b"), segment(6, 9, "c", Tentative("p", 1, 0)))
        log.collect(EDGE, 5)
        assert read(log, 0, 9) == "bbbccc"
        log.collect(EDGE, 9)
        assert log.segments(EDGE) == []

    def test_clear_removes_files(self, tmp_path):
        log = log_of(tmp_path, segment(0, 300, "x" * 30), memory_limit=1000)
        log.clear()
        assert log.segments(EDGE) == [] and not list(tmp_path.iterdir())


def test_a_segment_of_files_counts_its_rows(tmp_path):
    import pyarrow.parquet as pq

    paths = [tmp_path / "b.parquet", tmp_path / "a.parquet"]
    for number, path in enumerate(paths):
        pq.write_table(table((number, "v"), (number, "w")), path)
    made = parquet_segment(0, 10, STABLE, paths)
    assert (made.rows, [Path(p).name for p, _ in made.files]) == (4, ["a.parquet", "b.parquet"])
    assert made.load(EDGE).num_rows == 4
    assert parquet_segment(0, 10, STABLE, []).load(EDGE).schema == table().schema


@given(st.lists(st.integers(-20, 39), max_size=60), st.integers(1, 9))
def test_a_large_segment_is_cut_between_buckets(stimes, most):
    bucket, rows = 10, table(*((stime, f"{i}") for i, stime in enumerate(stimes)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("auroral.engine.edgelog.MOST_SEGMENT_ROWS", most)
        pieces = list(cut_up(Segment(-20, 40, STABLE, rows.num_rows, rows), bucket))
    assert [pieces[0].lo, *(piece.hi for piece in pieces)] == [*(piece.lo for piece in pieces), 40]
    assert all(piece.lo % bucket == 0 for piece in pieces)
    for piece in pieces:
        assert piece.rows == piece.table.num_rows
        assert all(piece.lo <= stime < piece.hi for stime in piece.table.column(STIME).to_pylist())
        assert piece.rows <= most or piece.hi - piece.lo == bucket
    together = pa.concat_tables([piece.table for piece in pieces])
    assert sorted(together.to_pylist(), key=lambda row: int(row["v"])) == rows.to_pylist()
    # No more pieces than it takes: two in a row have more rows than one may have.
    assert all(a.rows + b.rows > most for a, b in pairwise(pieces))
