"""The container file and the compose file of two sites: what they name is there, and their commands are ones of Auroral's.

No engine runs here: these are the mistakes that can be seen without one.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import yaml

from auroral.cli import make_parser
from auroral.commands.diagrams import load_one
from auroral.model.deployment_text import read_deployment_text
from auroral.sim import under_failures

ROOT = Path(__file__).parents[1]
SITES = ROOT / "examples" / "two_sites"
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT"}
# The keys of Compose's specification that may stand at each place, as far as they are used.
TOP = {"name", "services", "networks", "volumes"}
SERVICE = {
    *(
        "image",
        "build",
        "init",
        "entrypoint",
        "environment",
        "container_name",
        "command",
        "hostname",
        "volumes",
        "networks",
        "healthcheck",
        "depends_on",
    ),
}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def compose() -> dict[str, Any]:
    return yaml.safe_load((SITES / "compose.yaml").read_text(encoding="utf-8"))


def steps() -> list[tuple[str, str]]:
    """Instructions of the container file, with their arguments."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def test_the_container_file_copies_what_is_there_and_installs_extras_that_there_are() -> None:
    found = steps()
    assert found[0][0] == "FROM" and {name for name, _ in found} <= INSTRUCTIONS
    copied = [source for name, words in found if name == "COPY" for source in words.split()[:-1]]
    assert copied and [source for source in copied if not (ROOT / source).exists()] == []
    ignored = (ROOT / ".containerignore").read_text().split()
    assert not set(copied) & set(ignored)
    (install,) = (words for name, words in found if name == "RUN" and words.startswith("pip"))
    (asked,) = re.findall(r"'\.\[(.*)\]'", install)
    assert {"spark", "java"} <= set(asked.split(",")) <= set(project()["optional-dependencies"])
    assert "requirements.lock" in copied and "--constraint requirements.lock" in install
    # What the package is built from: its readme and licence are among it.
    assert {"src", "pyproject.toml", project()["readme"], *project()["license-files"]} <= set(copied)
    (entry,) = (json.loads(words) for name, words in found if name == "ENTRYPOINT")
    assert entry[0] in project()["scripts"]
    python = re.search(r"python:(\d+\.\d+)", found[0][1])[1]
    assert f"Programming Language :: Python :: {python}" in project()["classifiers"]


def test_what_the_compose_file_names_is_there() -> None:
    given = compose()
    assert {key for key in given if not key.startswith("x-")} == TOP
    assert set(given["services"]) == {"east", "west"}
    for service in given["services"].values():
        assert set(service) <= SERVICE
        assert (
            SITES / service["build"]["context"] / service["build"]["dockerfile"]
        ).resolve() == ROOT / "Containerfile"
        assert set(service["networks"]) <= set(given["networks"])
        mounts = dict(volume.split(":")[:2] for volume in service["volumes"])
        assert set(mounts) - {"."} <= set(given["volumes"])
        assert mounts["."] == "/app" and (SITES / Path(service["command"][0]).name).exists()
        assert set(service.get("depends_on", ())) <= set(given["services"])
    assert "healthcheck" in given["services"]["east"], "the west waits until it is well"


def test_addresses_are_the_same_in_all_files() -> None:
    given = compose()
    line = given["networks"]["line"]
    (config,) = line["ipam"]["config"]
    hosts = {name: service["networks"]["line"]["ipv4_address"] for name, service in given["services"].items()}
    assert all(ip_address(host) in ip_network(config["subnet"]) for host in hosts.values())
    (nodes,) = yaml.safe_load((SITES / "deploy.yaml").read_text())["replica_sets"]
    assert [node.split(":")[0] for node in nodes["nodes"]] == [hosts["east"], hosts["west"]]
    west = (SITES / "west.sh").read_text()
    assert (
        re.search(r"feed.py (\S+)", west)[1] == re.search(r"--input west=tcp:(\S+)", (SITES / "east.sh").read_text())[1]
    )
    unplugged = f"{line['name']} {given['services']['west']['container_name']}\n"
    readme = (SITES / "README.md").read_text()
    assert f"network disconnect {unplugged}" in readme
    assert f"network connect --ip {hosts['west']} {unplugged}" in readme


def test_the_scripts_run_commands_that_there_are() -> None:
    for script in ("east.sh", "west.sh"):
        text = (SITES / script).read_text().replace("\\\n", " ")
        commands = [shlex.split(line)[1:] for line in text.splitlines() if line.split()[:1] == ["auroral"]]
        assert commands and all(make_parser().parse_args(command) for command in commands)
        named = re.findall(r"/app/([\w.]+)", text)
        assert named and [file for file in named if not (SITES / file).exists()] == []
    assert "--host 10.77.0.2 --tls" in (SITES / "east.sh").read_text(), "nodes of two machines prove who they are"


def test_a_cut_line_between_the_two_gives_half_and_then_all() -> None:
    diagram = load_one(str(SITES / "sites.py"), ()).diagram
    deployment = read_deployment_text((SITES / "deploy.yaml").read_text())
    rows = [{"ts": 200_000 * n, "page": "/index"} for n in range(200)]
    tried = under_failures(
        diagram, {"east": rows, "west": rows}, "at 10s isolate west-countb; at 25s rejoin", deployment=deployment
    )
    assert tried.ok, tried.violations
    assert 10 in {row["calls"] for answer in tried.tentative for row in answer.rows}
    assert {row["calls"] for row in tried.rows("totals")} == {20}
