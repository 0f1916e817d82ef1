"""What comes through a pipe is cut into rows as the source counts them, and goes on where it was when the source was killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import auroral
from auroral.cli import main
from auroral.client.linesender import LineSender, Records
from auroral.edge.batches import InputError
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import SEQ
from auroral.node.fleet.inputs.lines import LineInput
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import free_ports
from fleet import inputs
from fleet.deployments import watch
from fleet.inputs import LOCAL, Talk, a_source, ledger, numbers


@contextmanager
def pipe(*written: bytes) -> Iterator[int]:
    """The end to read from. All of it is written, piece by piece, by somebody else."""
    reads, writes = os.pipe()

    def write() -> None:
        for one in written:
            os.write(writes, one)
        os.close(writes)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield reads
    finally:
        writing.join()
        os.close(reads)


def cut(*written: bytes) -> tuple[bytes, list[bytes]]:
    with pipe(*written) as reads:
        records = Records(reads)
        found = [one for some in records for one in some]
        return records.header, found


@pytest.mark.parametrize(
    ("written", "header", "records"),
    [
        ([b'{"n": 1}\n{"n', b'": 2}\n\n  \n{"n": 3}'], b"", [b'{"n": 1}\n', b'{"n": 2}\n', b'{"n": 3}\n']),
        ([b'\xef\xbb\xbf\n\n {"n": 1}\nrubbish\n'], b"", [b' {"n": 1}\n', b"rubbish\n"]),
        ([b"n,name\n", b'1,"a\n', b'b"\n2,c'], b"n,name\n", [b'1,"a\nb"\n', b"2,c\n"]),
        ([b"\xef\xbb\xbfn,name\r\n1,a\r\n\r\n"], b"n,name\r\n", [b"1,a\r\n"]),
        ([b"n,na", b"me"], b"n,name\n", []),
        ([b"\n\n"], b"", []),
        ([], b"", []),
    ],
)
def test_records_are_cut_as_they_come(written: list[bytes], header: bytes, records: list[bytes]) -> None:
    assert cut(*written) == (header, records)


def test_a_quote_that_is_not_closed_is_an_error_with_its_line() -> None:
    with pytest.raises(
        InputError, match=r"standard input: line 3 has a quote that is not closed(.|\n)*next: mend that line"
    ):
        cut(b'n,name\n1,a\n2,"b\n3,c\n')


@pytest.mark.parametrize("csv", [False, True])
def test_rows_are_logged_once_whatever_is_cut(tmp_path: Path, csv: bool) -> None:
    """Connections end at any byte, and begin with any row: with JSON also with one that is none."""
    source, draw = a_source(tmp_path), random.Random(7)
    given = LineInput(source, LOCAL, lambda: 0, lambda: None, None)
    given.start()
    stop = threading.Event()

    def end_them() -> None:
        while not stop.wait(draw.random() * 0.03):
            for guest in given.guests.here():
                guest.end()

    ending = threading.Thread(target=end_them)
    ending.start()
    rows = [f'1,{n},"x\n{n}"\n' if csv else f'{{"ts": 1, "n": {n}, "name": "x"}}\n' for n in range(5000)]
    # Some that do not convert are counted, and hold nothing up.
    for at in range(500, 5000, 500):
        rows[at] = "1,2\n" if csv else "rubbish\n"
    text = (("ts,n,name\n" if csv else "") + "".join(rows)).encode()
    try:
        with pipe(*(text[at : at + 5000] for at in range(0, len(text), 5000))) as reads:
            records = Records(reads)
            sender: LineSender | None = None
            for some in records:
                sender = sender or LineSender(str(given.endpoint), records.header)
                sender.send_lines(some)
        assert sender is not None and sender.position == 5000 and sender.left_out == {"refused": 9}
        sender.close()
    finally:
        stop.set()
        ending.join()
        given.stop()
    assert numbers(source) == [n for n in range(5000) if n == 0 or n % 500] and ledger(source) == {"refused": 9}
    source.close()


def test_who_does_not_say_what_comes_is_told(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    given = LineInput(source, LOCAL, lambda: 0, lambda: None, None)
    given.start()
    for sent in (b'{"ts": 1, "n": 1, "name": "x"}\n', b"a word that has no end"):
        with Talk(given.endpoint) as talk:
            talk.hear()
            assert "allowed: a first line that says json or csv" in talk.say(sent)["error"]
    given.stop()
    assert not source.state.rows_read
    source.close()


@pytest.mark.slow
def test_no_row_is_lost_or_doubled_when_the_source_is_killed(tmp_path: Path) -> None:
    (port,), log = free_ports(1), tmp_path / "log"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, inputs.__file__, str(log), f"stdin:127.0.0.1:{port}"]
    children = [subprocess.Popen(command, env=environment)]
    try:
        with LineSender(f"127.0.0.1:{port}", b"n,ts,name\n", patience=60) as sender:
            for life in range(3):
                for number in range(1000 * life, 1000 * life + 1000, 100):
                    sender.send_lines([b"%d,1,x\n" % n for n in range(number, number + 100)])
                children[-1].kill()
                children[-1].wait()
                children.append(subprocess.Popen(command, env=environment))
            assert sender.send_lines([b"3000,1,x\n"]) == 3001
    finally:
        children[-1].kill()
        children[-1].wait()
    with SourceLog.open(log, auroral.schema("ts long, n int, name string"), readonly=True) as found:
        assert found.read().sort_by(SEQ).column("n").to_pylist() == list(range(3001))


def test_what_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(auroral.AuroralError, match=r"standard input is read for east and west\n    allowed: one input"):
        prepare(tmp_path / "two", watch().check(), inputs={"east": "-", "west": "-"})
    deployed = prepare(tmp_path / "one", watch().check(), inputs={"east": "-"})
    assert deployed.agreed.inputs["east"].startswith("stdin:127.0.0.1:")
    # Nothing is started: what is wrong is said first.
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert main(["up", "--folder", str(tmp_path / "one"), "--input", "west=-"]) == 2
    assert "does not take standard input for 'west'\n    allowed: east" in capsys.readouterr().err
    assert main(["up", "--folder", str(tmp_path / "one"), "--input", "west=tcp:"]) == 2
    assert "--input: only of a new deployment" in capsys.readouterr().err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["up", "--folder", str(tmp_path / "one"), "--input", "east=-"]) == 2
    assert "standard input is a terminal" in capsys.readouterr().err
