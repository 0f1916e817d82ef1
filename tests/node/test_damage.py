"""A log whose end is damaged: what was acknowledged is missed, what never was is cut off and noted. An output that is damaged is refused."""

from pathlib import Path

import pyarrow as pa
import pytest

import auroral
from auroral.edge.records import DamagedSegment
from auroral.edge.sourcelog import SourceLog
from auroral.node.outputlog import DamagedOutput, OutputLog
from node.running import B, PassOn, rows, runner_in
from node.test_runner import checked, drained, stimes


def segment(folder: Path) -> Path:
    return folder / "sources/s0/000001.seg"


def begun(folder: Path) -> bytes:
    """A run that evaluated two buckets and was stopped; gives its log as it was before the last record."""
    runner = runner_in(folder, checked(), PassOn())
    runner.sources["s0"].take(rows(1.5), 0)
    before = segment(folder).read_bytes()
    runner.sources["s0"].take(rows(2.5, 3.5), 0)
    assert drained(runner) == [1.5, 2.5]
    return before


def flip_last_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("readonly", [True, False])
def test_a_flipped_bit_in_an_acknowledged_last_record_is_damage(tmp_path: Path, readonly: bool) -> None:
    before = begun(tmp_path / "run")
    flip_last_bit(segment(tmp_path / "run"))
    damaged = segment(tmp_path / "run").read_bytes()
    schema = checked().diagram.inputs[0].schema
    with pytest.raises(DamagedSegment, match=rf"000001.seg, byte {len(before)}: .*acknowledged"):
        SourceLog.open(tmp_path / "run/sources/s0", schema, readonly=readonly)
    with pytest.raises(DamagedSegment):
        runner_in(tmp_path / "run", checked(), PassOn())
    assert segment(tmp_path / "run").read_bytes() == damaged, "nothing was cut off"


@pytest.mark.parametrize("cut", [0, 5])
def test_after_a_power_cut_the_account_knows_what_was_used(tmp_path: Path, cut: int) -> None:
    """The count beside the log is not synced; what was evaluated must be there all the same."""
    before = begun(tmp_path / "run")
    (tmp_path / "run/sources/s0/writer.lock").write_bytes(b"")
    whole = segment(tmp_path / "run").read_bytes()
    segment(tmp_path / "run").write_bytes(whole[: len(before) + cut])
    with pytest.raises(DamagedSegment, match=f"the run has used rows up to stime {3 * B}"):
        runner_in(tmp_path / "run", checked(), PassOn())


def test_a_torn_end_that_nobody_was_told_of_is_cut_and_noted(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    log = segment(tmp_path / "run")
    whole = log.read_bytes()
    log.write_bytes(whole + whole[:30])
    runner = runner_in(tmp_path / "run", checked(), PassOn())
    assert log.read_bytes() == whole
    (note,) = runner.status().notes
    assert "30 bytes" in note and "unfinished write" in note and "s0" in note
    runner.sources["s0"].end()
    runner.run()
    assert stimes(runner) == [1.5, 2.5, 3.5]
    again = runner_in(tmp_path / "run", checked(), PassOn())
    assert again.status().notes == ()
    again.close()


def test_a_finished_run_must_have_the_end_of_its_input(tmp_path: Path) -> None:
    runner = runner_in(tmp_path / "run", checked(), PassOn())
    runner.sources["s0"].take(rows(1.5), 0)
    before = len(segment(tmp_path / "run").read_bytes())
    runner.sources["s0"].end()
    runner.run()
    (tmp_path / "run/sources/s0/writer.lock").write_bytes(b"")
    segment(tmp_path / "run").write_bytes(segment(tmp_path / "run").read_bytes()[:before])
    with pytest.raises(DamagedSegment, match="the run has used rows"):
        runner_in(tmp_path / "run", checked(), PassOn())


@pytest.mark.slow
def test_no_flipped_bit_of_an_output_is_taken_for_rows(tmp_path: Path) -> None:
    """Wherever it is in a part: that is refused by its name, or says the same all the same."""
    log = OutputLog.open(tmp_path, auroral.schema("n long, x double"), "run")
    rows = pa.table(
        {"__stime": pa.array(range(40)), "n": pa.array(range(40)), "x": pa.array([n / 7 for n in range(40)])}
    )
    log.append(0, 100, rows)
    (part,), expected = list(tmp_path.glob("*.parquet")), log.read()
    whole = part.read_bytes()
    refused, wrong = [], []
    for at in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        part.write_bytes(damaged)
        try:
            wrong += [] if log.read().equals(expected) else [at]
        except DamagedOutput as error:
            refused.append(str(error))
    assert not wrong, f"bytes of {len(whole)}"
    assert len(refused) > len(whole) / 20 and all(part.name in said for said in refused)
    log.close()
