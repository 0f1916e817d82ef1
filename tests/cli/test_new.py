"""`auroral new`: what it makes is what its README says, and it overwrites nothing."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from auroral.cli import main, make_parser
from auroral.commands.new import CALLED, FILES, STARTER
from auroral.model.yaml import read_deployment
from cli.conftest import ROOT, Call
from docs.blocks import blocks_of, commands_of, run_commands


def test_all_files_of_the_starter_are_copied_and_called_as_the_project(auroral: Call, tmp_path: Path) -> None:
    there = {str(path.relative_to(STARTER)) for path in STARTER.rglob("*") if path.is_file()}
    assert {path for path in there if "__pycache__" not in path} == set(FILES)
    (tmp_path / "Shop-2").mkdir()
    for where, name in (("work/first_shop", "first_shop"), ("Shop-2", "Shop-2")):
        ended = auroral("new", where)
        assert ended.code == 0 and f"next: cd {where} && auroral run" in ended.out
        texts = {file: (tmp_path / where / file).read_text() for file in FILES}
        assert not any(CALLED in text for text in texts.values())
        assert texts["README.md"].startswith(f"# {name}\n")
        assert f'auroral.diagram("{name}"' in texts["diagram.py"]
        assert read_deployment(texts["deploy.yaml"], "deploy.yaml").replica_sets


def test_the_wheel_has_the_starter(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as packed:
        assert {"auroral/reporting/style.css", *(f"auroral/starter/{file}" for file in FILES)} <= set(packed.namelist())


@pytest.mark.parametrize("name", ["3shops", "a shop", "shop.py", "läden", "x" * 65, "/", "-", "_x", 'a"b'])
def test_a_name_that_cannot_be_is_refused(name: str, auroral: Call, tmp_path: Path) -> None:
    ended = auroral("new", "--", name)
    assert ended.code == 2
    assert "cannot be the name of a project" in ended.err and "allowed: a letter, then letters" in ended.err
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_left_as_it_is(auroral: Call, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "diagram.py").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("shop", "file"):
        ended = auroral("new", name)
        assert ended.code == 2
        assert f"{name} is there already" in ended.err and "allowed: a folder that is new or empty" in ended.err
    ended = auroral("new", "file/shop")
    assert ended.code == 1 and "file/shop cannot be made: " in ended.err
    assert (tmp_path / "shop" / "diagram.py").read_text() == (tmp_path / "file").read_text() == "mine"


@pytest.mark.spark
@pytest.mark.usefixtures("interpreted", "commands_share_spark")
def test_it_does_what_its_readme_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run, its proof and its test here; the commands of its deployment are ones that there are."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "shop"]) == 0
    monkeypatch.chdir("shop")
    *here, deployment = blocks_of(Path("README.md"))
    for block in here:
        run_commands(block)
    assert Path("pages.csv").read_text().startswith("stime,page,calls,worst\n")
    assert all(make_parser().parse_args(command) for command in commands_of(deployment))
