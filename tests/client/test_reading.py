"""Outputs read from other processes: stable rows exactly once and in order, tentative ones on the way, whatever breaks."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest

import auroral
from auroral.adhoc.feeds import DeploymentFeed, QueryError, schema_in
from auroral.client import ClientError, Confirmed, Corrected, Event, Gap, Stable, Tentative, Unreachable, connect
from auroral.client.connecting import Kept
from auroral.client.subscription import Subscription
from auroral.model.errors import AuroralError
from auroral.node.fleet import outputs, serving
from auroral.node.fleet.outputs import Reader
from auroral.node.fleet.serving import TOKEN_VARIABLE, OutputServer, token_of
from auroral.node.outputlog import LetGo
from auroral.wire.authority import issue
from auroral.wire.certificates import READER, SERVER
from auroral.wire.errors import WireError
from auroral.wire.outputs import Asked, Told
from client.served import BUCKET, TOKEN, Life, stime


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    served = Life(tmp_path / "run")
    yield served
    served.end()


def said(event: Event) -> tuple[Any, ...]:
    """In buckets, and without what tests do not look at."""
    span = ((event.lo - stime(0)) // BUCKET, (event.hi - stime(0)) // BUCKET)
    rows = [] if isinstance(event, Gap) else event.rows.column("n").to_pylist()
    return (type(event).__name__, *span, rows)


def take(events: Subscription, count: int) -> list[tuple[Any, ...]]:
    return [said(next(events)) for _ in range(count)]


def until(found: Callable[[], Any]) -> None:
    end = time.monotonic() + 30
    while not found():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_history_comes_first_and_then_what_happens(life: Life) -> None:
    life.stable(0, 2, 1)
    life.stable(1)
    life.stable(2, 5)
    life.tentative(3, 7)
    with life.connect() as client, client.subscribe("f") as events:
        assert take(events, 3) == [("Stable", 0, 1, [1, 2]), ("Stable", 1, 3, [5]), ("Tentative", 3, 4, [7])]
        life.tentative(4, 8)
        assert take(events, 1) == [("Tentative", 4, 5, [8])]
        life.stable(3, 7)
        life.stable(4, 8, 9)
        life.stable(5, 6)
        assert take(events, 3) == [("Confirmed", 3, 4, [7]), ("Corrected", 4, 5, [8, 9]), ("Stable", 5, 6, [6])]
        assert events.position == stime(6)


def test_a_newer_version_takes_the_place_of_the_last_and_the_same_is_not_told_twice(life: Life) -> None:
    with life.connect() as client, client.subscribe("f") as events:
        life.tentative(2, 1)
        assert take(events, 1) == [("Tentative", 2, 3, [1])]
        # In another order: the same rows.
        life.tentative(1, 3, 4)
        assert take(events, 1) == [("Tentative", 1, 2, [3, 4])]
        life.tentative(1, 4, 3)
        life.tentative(2)
        assert take(events, 1) == [("Tentative", 2, 3, [])]


def test_who_ignores_what_is_tentative_sees_the_failure_free_stream(life: Life) -> None:
    """D46, for every way to ignore it."""
    with (
        life.connect() as client,
        client.subscribe("f") as all_events,
        client.subscribe("f", tentative=False) as stable,
    ):
        for bucket in range(6):
            life.tentative(bucket, bucket + 1)
        for bucket in range(6):
            life.stable(bucket, bucket + 1, bucket + 2)
        expected = [n for b in range(6) for n in (b + 1, b + 2)]
        for events in (all_events, stable):
            found: list[int] = []
            while events.position != stime(6):
                event = next(events)
                if isinstance(event, Stable):
                    found += event.rows.column("n").to_pylist()
            assert found == expected


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (stime(1), [2, 3]),
        (stime(1.5), [2, 3]),
        (0, [1, 2, 3]),
        (datetime.fromtimestamp(stime(2) / 1e6, UTC) + timedelta(microseconds=3), [3]),
        (stime(3), []),
    ],
)
def test_from_where_on(life: Life, since: Any, expected: list[int]) -> None:
    for bucket in range(3):
        life.stable(bucket, bucket + 1)
    with life.connect() as client:
        assert client.table("f", since=since).column("n").to_pylist() == expected


def test_from_now_on(life: Life) -> None:
    life.stable(0, 1)
    with life.connect() as client, client.subscribe("f", since="now") as events:
        life.stable(1, 2)
        assert take(events, 1) == [("Stable", 1, 2, [2])]


def test_what_is_lost_is_told(life: Life) -> None:
    with life.connect() as client, client.subscribe("f") as events:
        life.tentative(1, 5)
        assert take(events, 1) == [("Tentative", 1, 2, [5])]
        life.stable(0, 4)
        life.lost(1, 3)
        life.stable(3, 6)
        assert take(events, 3) == [("Stable", 0, 1, [4]), ("Gap", 1, 3, []), ("Stable", 3, 4, [6])]


def test_tuples_of_the_thesis(life: Life) -> None:
    with life.connect() as client, client.subscribe("f") as events:
        tuples = events.tuples()
        life.stable(0, 4)

        def one() -> tuple[str, int, Any]:
            found = next(tuples)
            return found.type.name, (found.position - stime(0)) // BUCKET, found.row and found.row["n"]

        assert [one() for _ in range(2)] == [("INSERTION", 0, 4), ("BOUNDARY", 1, None)]
        life.tentative(1, 5)
        assert one() == ("TENTATIVE", 1, 5)
        life.stable(1, 6)
        rest = [("UNDO", 1, None), ("INSERTION", 1, 6), ("BOUNDARY", 2, None), ("REC_DONE", 2, None)]
        assert [one() for _ in rest] == rest


def test_the_table_of_now(life: Life) -> None:
    life.stable(0, 1, 2)
    life.stable(1)
    life.tentative(2, 3)
    with life.connect() as client:
        assert client.streams == ("f",)
        found = client.table("f")
        assert found.column_names == ["stime", "ts", "n", "_tentative"]
        assert list(zip(*found.select(["n", "_tentative"]).to_pydict().values(), strict=True)) == [
            (1, False),
            (2, False),
            (3, True),
        ]
        assert found.to_pandas()["n"].sum() == 6
        life.stable(2, 4)
        assert client.table("f").column("n").to_pylist() == [1, 2, 4]
        assert not any(client.table("f").column("_tentative").to_pylist())
        with pytest.raises(AuroralError, match="never revised"):
            client.table("f", revised=True)


def test_rows_of_a_large_bucket_come_whole(life: Life) -> None:
    life.stable(0, *range(1, 200_001))
    with life.connect() as client, client.subscribe("f") as events:
        assert next(events).rows.num_rows == 200_000


# Breaks


def test_a_reader_goes_on_exactly_behind_its_last_stable_position(tmp_path: Path) -> None:
    first = Life(tmp_path / "run")
    first.stable(0, 1)
    with first.connect() as client, client.subscribe("f") as events:
        assert take(events, 1) == [("Stable", 0, 1, [1])]
        first.tentative(1, 2)
        first.tentative(2, 3)
        assert take(events, 2) == [("Tentative", 1, 2, [2]), ("Tentative", 2, 3, [3])]
        first.end()
        # It has forgotten what was tentative, and has come further, before it is asked again.
        again = Life(tmp_path / "run", first.port)
        again.stable(1, 2)
        again.stable(2, 9)
        again.stable(3, 4)
        assert take(events, 3) == [("Confirmed", 1, 2, [2]), ("Corrected", 2, 3, [9]), ("Stable", 3, 4, [4])]
        again.end()


def test_nobody_there_is_said_after_a_while(tmp_path: Path) -> None:
    life = Life(tmp_path / "run")
    life.stable(0, 1)
    with life.connect(patience=0.5) as client, client.subscribe("f") as events:
        assert take(events, 1) == [("Stable", 0, 1, [1])]
        life.end()
        with pytest.raises(Unreachable, match=r"nobody answers at 127.0.0.1:\d+ for 0.5 s(.|\n)*next: auroral status"):
            next(events)
        assert events.position == stime(1)


def test_a_stream_that_a_connection_point_keeps(tmp_path: Path) -> None:
    """It begins with what is kept; what was let go is asked for in vain, and not passed over in silence."""
    life = Life(tmp_path / "run", kept=4)
    try:
        for bucket in range(3):
            life.stable(bucket, bucket + 1)
        with life.connect() as client, Reader(life.outputs, "slow", "f", None, True, {}) as slow:
            assert slow.take(0) is not None
            assert client.about().views == {"few": Kept("f", stime(0))}
            early = DeploymentFeed(client, "few", None, tentative=True, follow=False, schema=auroral.schema("n int"))
            for bucket in range(3, 40):
                life.stable(bucket, bucket + 1)
            life.histories.publish()
            assert client.about().views == {"few": Kept("f", stime(36))}
            assert schema_in(client, "few") == auroral.schema("ts long, n int") == schema_in(client, "f")
            feed = DeploymentFeed(client, "few", None, tentative=True, follow=False, schema=auroral.schema("n int"))
            assert [said(event)[3] for event in feed] == [[37], [38], [39], [40]] and feed.position == stime(40)
            # One that was made before goes by what is kept when all else is ready.
            early.start()
            assert [said(event)[3] for event in early] == [[37], [38], [39], [40]]
            with client.subscribe("f") as events:
                assert take(events, 1) == [("Stable", 36, 37, [37])]
            with client.subscribe("f", since=stime(20)) as events, pytest.raises(ClientError, match="were let go"):
                next(events)
            with pytest.raises(LetGo, match="were let go"):
                slow.take(0)
            with pytest.raises(QueryError, match="few"):
                DeploymentFeed(client, "fw", None, tentative=True, follow=False, schema=auroral.schema("n int"))
            with pytest.raises(QueryError, match="did you mean"):
                schema_in(client, "fe")
    finally:
        life.end()
    # As in a copy without links: until it is shown again, what the log has.
    (tmp_path / "run" / "history" / "few").unlink()
    again = Life(tmp_path / "run", kept=4)
    try:
        with again.connect() as client:
            assert client.about().views == {"few": Kept("f", stime(36))}
    finally:
        again.end()


def test_a_slow_reader_delays_itself_alone(life: Life) -> None:
    """It misses versions that were replaced, which are counted; nothing stable."""
    with life.connect() as client, client.subscribe("f") as slow, client.subscribe("f") as quick:
        life.tentative(1, 1)
        assert take(slow, 1) == take(quick, 1) == [("Tentative", 1, 2, [1])]
        # So large that they do not fit into what is between here and there.
        for version in range(2, 40):
            life.tentative(1, *range(version, version + 100_000))
            assert isinstance(next(quick), Tentative)
        life.stable(0, 4)
        life.stable(1, 5)
        assert take(quick, 2) == [("Stable", 0, 1, [4]), ("Corrected", 1, 2, [5])]
        assert quick.dropped == 0
        found: list[Event] = []
        while slow.position != stime(2):
            found.append(next(slow))
        assert [said(event) for event in found if isinstance(event, Stable)] == [
            ("Stable", 0, 1, [4]),
            ("Corrected", 1, 2, [5]),
        ]
        assert slow.dropped > 0
        assert slow.dropped + len(found) - 2 == 38


def test_a_reader_that_stands_still_does_not_keep_the_process_from_ending(tmp_path: Path) -> None:
    life = Life(tmp_path / "run")
    for bucket in range(20):
        life.stable(bucket, *range(1, 100_001))
    with life.connect() as client, client.subscribe("f") as events:
        next(events)
        # More is on its way than there is room for, and nobody takes it.
        until(lambda: life.outputs.status()[0]["behind"] < 19)
        life.end()
        assert not life.outputs.readers


def test_readers_that_have_gone_are_forgotten(life: Life) -> None:
    with life.connect() as client:
        events = client.subscribe("f")
        life.stable(0, 1)
        next(events)
        assert len(life.outputs.readers) == 1
        (told,) = life.outputs.status()
        assert told["stream"] == "f" and told["behind"] == 0
        events.close()
        until(lambda: not life.outputs.readers)
    killed = subprocess.Popen(
        [sys.executable, "-c", READS.format(port=life.port, token=TOKEN)], stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout is not None and killed.stdout.readline() == "1\n"
    assert len(life.outputs.readers) == 1
    killed.kill()
    killed.communicate()
    until(lambda: not life.outputs.readers)


READS = """
from auroral.client import connect
for event in connect("127.0.0.1:{port}", token="{token}").subscribe("f"):
    print(event.rows.num_rows, flush=True)
"""


def test_a_subscription_is_closed_from_another_thread(life: Life) -> None:
    with life.connect() as client:
        events = client.subscribe("f")
        threading.Timer(0.3, events.close).start()
        assert list(events) == []


# Who may read, and what may be asked


def test_only_who_knows_the_token_is_told(life: Life) -> None:
    at = f"127.0.0.1:{life.port}"
    with pytest.raises(ClientError, match=r"refuses this token(.|\n)*allowed: (.|\n)*next: connect with the folder"):
        connect(at, token="guess")
    with pytest.raises(ClientError, match=r"asked without a token(.|\n)*next: connect\('127.0.0.1:\d+', token=...\)"):
        connect(at)
    with fl.connect(f"grpc://{at}") as plain, pytest.raises(fl.FlightUnauthenticatedError):
        plain.do_get(fl.Ticket(Asked("f").to_bytes())).read_chunk()


def test_with_certificates_only_readers_are_served_and_nodes_serve_no_reader(tmp_path: Path) -> None:
    made, others = issue((SERVER, READER)), issue((SERVER, READER))
    life = Life(tmp_path / "live", certificates=made[SERVER])
    try:
        life.stable(0, 1, 2)
        at = f"127.0.0.1:{life.port}"
        for name, certificates in (("reader", made[READER]), ("stranger", others[READER])):
            certificates.write(tmp_path / name)
        with connect(at, TOKEN, certificates=tmp_path / "reader") as client:
            assert client.table("f").num_rows == 2
        with pytest.raises(ClientError, match="refuses this token"):
            connect(at, "guess", certificates=tmp_path / "reader")
        assert life.refused == ["somebody who reads outputs came without the token of this deployment"]
        # With a certificate of somebody else, and as it was without any.
        for folder in (tmp_path / "stranger", None):
            with pytest.raises(Unreachable, match=r"--tls, whoever reads needs a certificate"):
                connect(at, TOKEN, patience=0.1, certificates=folder)
        with pytest.raises(
            ClientError, match=r"a file for TLS cannot be read(.|\n)*next: copy the folder tls-readers/reader"
        ):
            connect(at, TOKEN, certificates=tmp_path / "nowhere")
    finally:
        life.end()


def test_the_token_of_a_folder_is_for_its_owner_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = token_of(tmp_path)
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert token_of(tmp_path) == token and len(token) == 32
    monkeypatch.setenv(TOKEN_VARIABLE, "of the environment")
    assert token_of(tmp_path) == "of the environment"
    for short in ("", "too short"):
        monkeypatch.setenv(TOKEN_VARIABLE, short)
        with pytest.raises(AuroralError, match=r"AURORAL_TOKEN has a token of \d characters(.|\n)*allowed: 16"):
            token_of(tmp_path)
    monkeypatch.delenv(TOKEN_VARIABLE)
    # As a crash may leave it.
    (tmp_path / "token").write_text("")
    with pytest.raises(AuroralError, match="has a token of 0 characters"):
        token_of(tmp_path)


def test_by_the_folder(life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClientError, match="has no deployment"):
        connect(tmp_path)
    (tmp_path / "deployment.json").write_text(json.dumps({"serve": f"127.0.0.1:{life.port}"}))
    with pytest.raises(ClientError, match=r"the token of .* cannot be read"):
        connect(tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    with connect(tmp_path) as client:
        assert client.streams == ("f",)
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    with connect(f"127.0.0.1:{life.port}") as client:
        assert client.streams == ("f",)


@pytest.mark.parametrize("where", ["no/such/folder", "nothing", "host:port", "a:b:c"])
def test_no_deployment_there(where: str) -> None:
    with pytest.raises(ClientError, match=r"there is no deployment at (.|\n)*allowed: (.|\n)*next: "):
        connect(where, token="x")


def test_what_is_not_there_is_said(life: Life) -> None:
    with life.connect() as client:
        with pytest.raises(ClientError, match=r"g(.|\n)*allowed: f"):
            client.subscribe("g")
        with pytest.raises(ClientError, match=r"since='yesterday' is no time(.|\n)*allowed"):
            client.subscribe("f", since="yesterday")
        with pytest.raises(ClientError, match="has no time zone"):
            client.subscribe("f", since=datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("ticket", "complaint"),
    [
        (b"junk", "this is no JSON object"),
        (b'{"version": 9}', "the same version of auroral"),
        (b'{"version": 1}', "ticket, stream"),
        (b'{"version": 1, "stream": "f", "since": "x"}', "a stime in microseconds"),
        (b'{"version": 1, "stream": "f", "shown": [[1]]}', "a pair of a stime and a digest"),
        (b'{"version": 1, "stream": "g"}', "there is no output 'g'; allowed: f"),
    ],
)
def test_other_programs_are_told_what_is_wrong(life: Life, ticket: bytes, complaint: str) -> None:
    options = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {TOKEN}".encode())])
    with fl.connect(f"grpc://127.0.0.1:{life.port}") as plain, pytest.raises(pa.ArrowInvalid, match=complaint):
        plain.do_get(fl.Ticket(ticket), options).read_chunk()


def test_what_was_asked_and_told_comes_back() -> None:
    asked = Asked("a b", 5, False, False, {-3: "x", 4: "y"})
    assert Asked.from_bytes(asked.to_bytes()) == asked
    with pytest.raises(WireError, match="answer, kind"):
        Told.from_bytes(b'{"version": 1, "kind": "other", "lo": 1, "hi": 2}')


def test_an_address_that_is_taken_is_said(life: Life) -> None:
    from auroral.model.deployment import Endpoint

    with pytest.raises(AuroralError, match=r"outputs cannot be served at 127.0.0.1:\d+(.|\n)*allowed(.|\n)*next"):
        OutputServer(Endpoint("127.0.0.1", life.port), TOKEN, lambda kind, detail: None)


def test_the_library_needs_neither_spark_nor_java() -> None:
    code = (
        "import sys, auroral.client\n"
        "found = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(found & {'pyspark', 'py4j', 'pandas', 'rich', 'psycopg'}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_kinds_of_stable_events_are_stable() -> None:
    assert issubclass(Confirmed, Stable) and issubclass(Corrected, Stable)


def test_one_reader_too_many_waits_until_another_ends(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_READERS", 1)
    life.stable(0, 1)
    with life.connect() as client:
        first = client.subscribe("f")
        assert isinstance(next(first), Stable)
        second = client.subscribe("f")
        threading.Timer(0.5, first.close).start()
        assert isinstance(next(second), Stable)
        second.close()


def test_tentative_rows_of_a_long_failure_do_not_fill_memory(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    life.stable(0, 1)
    for bucket in (1, 2):
        life.tentative(bucket, 5)
    one = life.outputs.tentative["f"][stime(1)].nbytes
    monkeypatch.setattr(outputs, "MOST_TENTATIVE", 3 * one)
    for bucket in (3, 4, 5, 5):
        life.tentative(bucket, 6)
    assert list(life.outputs.tentative["f"]) == [stime(3), stime(4), stime(5)]
    assert life.outputs.let_go == {"f": 2}
    with life.connect() as client, client.subscribe("f") as events:
        assert take(events, 2) == [("Stable", 0, 1, [1]), ("Tentative", 3, 4, [6])]
    for bucket in range(1, 6):
        life.stable(bucket, bucket)
    assert life.outputs._held == {"f": 0}
