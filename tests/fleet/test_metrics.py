"""What processes tell Prometheus: as Prometheus reads it, counted from what happens, and under the names that dashboards use."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from auroral.dpc.events import Evaluate, Evaluated, Failed, Send, Woken
from auroral.dpc.histogram import STEPS, Histogram
from auroral.dpc.switching import Lane
from auroral.dpc.transitions import StateTimes
from auroral.dpc.values import Confirm, Content, Gap, Stable, Subscribe, Tentative
from auroral.edge.ledger import Reason
from auroral.model.deployment import Endpoint
from auroral.node.fleet.deployed import Deployed, DeploymentError
from auroral.node.fleet.metrics.collecting import SOURCE_STATES, STATES, of_status
from auroral.node.fleet.metrics.counting import Counting
from auroral.node.fleet.metrics.exposition import Sample, text
from auroral.node.fleet.metrics.families import FAMILIES, Family, Kind
from auroral.node.fleet.metrics.places import metrics_at, parse_metrics, places, with_metrics
from auroral.node.fleet.metrics.serving import MetricServer
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import free_ports
from fleet.deployments import free_in_a_row, watch

MONITORING = Path(__file__).parents[2] / "examples" / "monitoring"


def read(process: str, *samples: Sample) -> dict[tuple[str, ...], float]:
    """By name and values of labels, but for the process."""
    found = {}
    for family in text_string_to_metric_families(text(process, samples)):
        for sample in family.samples:
            assert sample.labels.pop("process") == process
            found[sample.name, *sample.labels.values()] = sample.value
    return found


# As text


def test_names_are_given_as_they_are_whatever_is_in_them() -> None:
    odd = 'a "quoted" \\ name\nof two lines, ünd mehr'
    found = read("na", Sample("auroral_ledger_rows_total", 3, {"stream": odd, "reason": "late"}))
    assert found == {("auroral_ledger_rows_total", odd, "late"): 3}


@pytest.mark.parametrize("value", [0, 1, 2**40, 0.25, 1e-9, inf, True])
def test_numbers_are_read_as_they_were(value: float) -> None:
    assert read("c", Sample("auroral_bound_seconds", value, {"stream": "s"})) == {("auroral_bound_seconds", "s"): value}


def test_a_histogram_counts_up_to_each_step() -> None:
    took = Histogram()
    for seconds in (0.01, 0.05, 0.06, 400.0):
        took.add(seconds)
    found = read("na", Sample("auroral_job_seconds", took, {"query": "q", "lane": "stable"}))
    name = "auroral_job_seconds_bucket"
    assert [found[name, "q", "stable", le] for le in ("0.05", "0.1", "300", "+Inf")] == [2, 3, 3, 4]
    assert found["auroral_job_seconds_sum", "q", "stable"] == pytest.approx(400.12)
    assert found["auroral_job_seconds_count", "q", "stable"] == 4 == took.count
    assert len([key for key in found if key[0] == name]) == len(STEPS) + 1


def test_a_sample_must_be_of_a_family_with_its_labels() -> None:
    with pytest.raises(AssertionError):
        Sample("auroral_bound_seconds", 1, {"reason": "x"})
    with pytest.raises(KeyError):
        Sample("auroral_unheard_of", 1)


# Counted from what happens


class Hands:
    """A clock that is set by hand."""

    time = 100.0

    def now(self) -> float:
        return self.time


@pytest.fixture
def counting() -> Counting:
    return Counting(Hands())  # type: ignore[arg-type]


def evaluate(job: int, tentative: bool) -> Evaluate:
    return Evaluate(job, ("o",), 0, 1, {}, tentative)


def test_jobs_take_from_when_they_are_wanted_until_they_end(counting: Counting) -> None:
    clock: Any = counting.clock
    counting.saw("q@na", Woken(), [evaluate(1, False), evaluate(2, True)])
    clock.time += 0.3
    counting.saw("q@na", Evaluated(1, {}), [])
    counting.saw("q@na", Failed(2, "why"), [])
    counting.saw("q@na", Evaluated(7, {}), [])  # began before anybody counted
    found = read("na", *counting.samples())
    assert found["auroral_job_seconds_count", "q", "stable"] == 1
    assert found["auroral_job_seconds_sum", "q", "stable"] == pytest.approx(0.3)
    assert found["auroral_jobs_failed_total", "q", "tentative"] == 1
    assert ("auroral_job_seconds_count", "q", "tentative") not in found


def test_buckets_that_are_sent_are_counted_by_how(counting: Counting) -> None:
    content, full = Content(1, 1), ("client",)
    sent = [
        Stable("s", 1, 0, (content, content)),
        Tentative("s", 1, 2, content, True, 0.0, None),  # type: ignore[arg-type]
        Tentative("s", 1, 3, content, False, 0.0, None),  # type: ignore[arg-type]
        Confirm("s", 1, 2, (1, 2, 3)),
        Gap("s", 1, 5, 9),
    ]
    counting.saw("q@na", Woken(), [Send(*full, message) for message in sent])
    found = read("na", *counting.samples())
    assert {kind: count for (_, _, kind), count in found.items()} == {
        "stable": 2,
        "tentative": 1,
        "confirmed": 3,
        "gap": 4,
    }


def test_only_another_replica_is_a_switch(counting: Counting) -> None:
    def reads(replica: str, lane: Lane) -> int:
        counting.saw("client", Woken(), [Send(replica, Subscribe("s", 1, lane, 0, False))])
        return counting.switches["s"]

    switches = [reads("q@na", Lane.BOTH), reads("q@na", Lane.BOTH), reads("q@nb", Lane.FRESH)]
    # What is new comes from the one, corrections from the other, which is as before.
    switches += [reads("q@na", Lane.CORRECT), reads("q@nb", Lane.BOTH)]
    assert switches == [0, 0, 1, 1, 2]


def test_seconds_in_states_go_on_over_turns() -> None:
    times = StateTimes()
    assert times.of("q@na", "s", 5.0) == {}
    times.turned("q@na", "s", "STABLE", 5.0)
    times.turned("q@na", "s", "UP_FAILURE", 7.0)
    times.turned("q@na", "s", "STABLE", 8.0)
    assert times.of("q@na", "s", 11.0) == {"STABLE": 5.0, "UP_FAILURE": 1.0}


# Where


@pytest.fixture
def deployed(tmp_path: Path) -> Deployed:
    return prepare(tmp_path / "live", watch().check())


@pytest.mark.parametrize(
    ("given", "found"),
    [("9464", "127.0.0.1:9464"), (":9464", "127.0.0.1:9464"), ("0.0.0.0:90", "0.0.0.0:90"), ("off", "")],
)
def test_where_metrics_are_asked_for(given: str, found: str) -> None:
    assert parse_metrics(given) == found


@pytest.mark.parametrize("given", ["", "localhost", "70000", "a b:9", "0"])
def test_what_is_no_address(given: str) -> None:
    with pytest.raises(ValueError, match="allowed: PORT, HOST:PORT or off"):
        parse_metrics(given)


def test_each_process_has_a_port_and_prometheus_a_list(deployed: Deployed) -> None:
    assert metrics_at(deployed, "na") is None and places(deployed) == {}
    base = free_in_a_row(len(deployed.processes))
    changed = with_metrics(deployed, f"127.0.0.1:{base}")
    ports = {name: at.port - base for name, at in places(changed).items()}
    assert ports == {"spark": 0, "catalog": 1, "client": 2, "east": 3, "west": 4, "na": 5, "nb": 6}
    again = Deployed.look(deployed.folder, deployed.checked)
    assert metrics_at(again, "na") == Endpoint("127.0.0.1", base + 5)
    told = json.loads((deployed.folder / "metrics.json").read_text())
    assert {"targets": [f"127.0.0.1:{base + 6}"], "labels": {"deployment": "live"}} in told and len(told) == 7
    assert places(with_metrics(again, "")) == {}
    assert json.loads((deployed.folder / "metrics.json").read_text()) == []


def test_a_port_that_is_taken_is_said_before_anything_is_changed(deployed: Deployed) -> None:
    base = free_in_a_row(7)
    with (
        socket.create_server(("127.0.0.1", base + 3)),
        pytest.raises(DeploymentError, match=rf"east cannot tell its metrics at 127.0.0.1:{base + 3}\n"),
    ):
        with_metrics(deployed, f"127.0.0.1:{base}")
    with pytest.raises(
        DeploymentError,
        match=r"(?s)allowed: an address of this machine.*made already: auroral up --folder \S+ --metrics PORT",
    ):
        with_metrics(deployed, "127.0.0.1:65533")
    assert Deployed.look(deployed.folder, deployed.checked).agreed.metrics == ""


# Asked over HTTP


async def _asked(at: Endpoint, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(at.host, at.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


def test_a_server_tells_and_follows_where_it_is_wanted() -> None:
    async def lives() -> None:
        first, second = (Endpoint("127.0.0.1", port) for port in free_ports(2))
        wanted: list[Endpoint | None] = [first]
        begun: list[bool] = []
        failed: list[str] = []

        async def told() -> str:
            return "auroral_readers 1\n"

        server = MetricServer(lambda: wanted[0], told, lambda: begun.append(True), failed.append)
        running = asyncio.ensure_future(server.run())
        await asyncio.sleep(0.05)
        assert begun
        answer = await _asked(first, b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4")
        assert answer.endswith(b"\r\n\r\nauroral_readers 1\n")
        head = await _asked(first, b"HEAD /metrics HTTP/1.1\r\n\r\n")
        assert b"Content-Length: 18\r\n" in head and head.endswith(b"\r\n\r\n")
        for request, status in (
            (b"GET / HTTP/1.1\r\n\r\n", b"404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
            (b"\x16\x03 no words\r\n\r\n", b"400"),
        ):
            assert (await _asked(first, request)).split()[1] == status
        assert await _asked(first, b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n") == b""
        with socket.create_server((second.host, second.port)):
            await server._go_to(second)
            assert len(failed) == 1 and str(second) in failed[0]
        await server._go_to(Endpoint("127.0.0.1", 65_536))
        assert len(failed) == 2 and "65536" in failed[1], "as behind a node that was added at the highest port"
        await server._go_to(second)
        assert b"200 OK" in await _asked(second, b"GET /metrics HTTP/1.1\r\n\r\n")
        wanted[0] = None
        await server._go_to(None)
        with pytest.raises(ConnectionRefusedError):
            await _asked(second, b"")
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(lives())


# Names that others use


def expressions() -> Iterator[str]:
    dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel.get("targets", []))
    yield from (one["query"] for one in dashboard["templating"]["list"])
    for group in yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


def test_dashboard_and_alerts_use_metrics_that_there_are() -> None:
    series = {
        f"{one.name}{end}"
        for one in FAMILIES
        for end in (("_bucket", "_sum", "_count") if one.kind is Kind.HISTOGRAM else ("",))
    }
    used = {name for text in expressions() for name in re.findall(r"\bauroral_\w+", text)}
    assert used - series == set()
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in used if name in series}
    hardly_of_use = {"auroral_process_start_time_seconds", "auroral_frontier_buckets", "auroral_tentative_rows_total"}
    hardly_of_use |= {"auroral_readers", "auroral_tentative_let_go_total", "auroral_reconfiguring"}
    assert {one.name for one in FAMILIES} - shown == hardly_of_use


def test_labels_that_are_asked_for_are_labels_of_the_metric() -> None:
    by_name = {one.name: {*one.labels, "process", "deployment", "le"} for one in FAMILIES}
    for expression in expressions():
        for name, within in re.findall(r"(auroral_\w+)\{([^}]*)\}", expression):
            labels = set(re.findall(r'(\w+)[=!]~?"', within))
            labels -= {"deployment"}
            assert labels <= by_name[re.sub("_(bucket|sum|count)$", "", name)], expression


def test_labels_that_are_grouped_by_are_labels_of_the_metric() -> None:
    by_name = {one.name: {*one.labels, "process", "deployment", "le"} for one in FAMILIES}
    grouped = 0
    for expression in expressions():
        (names, groups) = (re.findall(pattern, expression) for pattern in (r"auroral_\w+", r"\b(?:by|on) \(([^)]*)\)"))
        for group in groups:
            grouped += 1
            known = set.intersection(*(by_name[re.sub("_(bucket|sum|count)$", "", name)] for name in names))
            assert {label.strip() for label in group.split(",")} <= known, expression
    assert grouped > 5


def test_alerts_name_reasons_and_events_and_states_that_there_are() -> None:
    said = " ".join(expressions())
    for label, known in (("reason", set(Reason)), ("state", {*STATES, *SOURCE_STATES})):
        for values in re.findall(rf'\b{label}[=!]~?"([^"]*)"', said):
            assert set(values.split("|")) <= set(map(str, known)), values


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_names_are_as_prometheus_has_them(family: Family) -> None:
    assert re.fullmatch(r"auroral(_[a-z]+)+", family.name)
    assert family.name.endswith("_total") == (family.kind is Kind.COUNTER)
    assert not re.search(r"_(count|sum|bucket|gauge|counter|histogram|ms|minutes|milliseconds|mb|kb)$", family.name)
    assert family.kind is not Kind.HISTOGRAM or family.name.endswith("_seconds")
    assert all(re.fullmatch(r"[a-z_]+", label) and not label.startswith("__") for label in family.labels)
    assert not {"le", "quantile", "job", "instance", "process"} & set(family.labels)
    assert family.meaning and "\\" not in family.meaning and "\n" not in family.meaning


def test_what_may_be_left_out_is_counted_from_zero(deployed: Deployed) -> None:
    """Of a counter that begins with its first rows, `increase` sees nothing."""
    said = {"kind": "source", "rows": 9, "ledger": {"late": 4}}
    found = read("east", *of_status("east", said, deployed, 0.0))
    assert found["auroral_ledger_rows_total", "east", "late"] == 4
    assert found["auroral_ledger_rows_total", "east", "refused"] == 0
    node = {"kind": "node", "outputs": {}, "left_out": {"sums: late": 2}, "not_started": {}}
    assert read("na", *of_status("na", node, deployed, 0.0))["auroral_ledger_rows_total", "sums", "late"] == 2


def test_alerts_are_rules_of_prometheus() -> None:
    config = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    assert [(MONITORING / name).exists() for name in config["rule_files"]] == [True]
    (group,) = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    assert group.keys() == {"name", "rules"}
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names)
    for rule in group["rules"]:
        assert rule.keys() - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert re.fullmatch(r"Auroral[A-Z]\w+", rule["alert"]) and rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"].keys() == {"summary", "next"}
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_panels_do_not_cover_one_another() -> None:
    panels = json.loads((MONITORING / "grafana-dashboard.json").read_text())["panels"]
    cells: set[tuple[int, int]] = set()
    for at in (panel["gridPos"] for panel in panels):
        mine = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not mine & cells and max(x for x, _ in mine) < 24
        cells |= mine
    assert len({panel["id"] for panel in panels}) == len(panels)
