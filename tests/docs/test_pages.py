"""Pages agree with the code and with one another: generated parts, links, the list of dependencies."""

import re
import tomllib
from pathlib import Path

import pytest

import generate_docs

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = {"names": lambda: "| a |\n|---|\n"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_holds_both_sides_of_a_merge(page: Path) -> None:
    assert not re.search(r"^(<<<<<<<|=======|>>>>>>>)", page.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", generate_docs.pages(), ids=lambda page: page.name)
def test_generated_parts_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert generate_docs.regenerate(text) == text, "run `make docs`"


def test_a_generated_part_is_replaced_and_the_rest_kept() -> None:
    page = "before\n<!-- generated: names -->\nold\n<!-- end -->\nafter\n"
    once = generate_docs.regenerate(page, TEXT)
    assert once == "before\n<!-- generated: names -->\n\n| a |\n|---|\n\n<!-- end -->\nafter\n"
    assert generate_docs.regenerate(once, TEXT) == once


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("<!-- generated: nmaes -->\n<!-- end -->\n", "nothing generates 'nmaes'; known: names"),
        ("<!-- generated: names -->\nno end\n", "without its `end`"),
        ("text\n<!-- end -->\n", "without its `end`"),
    ],
)
def test_a_wrong_marker_is_refused(page: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        generate_docs.regenerate(page, TEXT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_dependency_is_justified() -> None:
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.match(r"[\w-]+", requirement)[0] for group in groups for requirement in group}
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    justified = set(re.findall(r"^\| ([\w-]+) \| .{10,} \|$", text, flags=re.MULTILINE))
    assert justified == declared


def test_the_lock_pins_everything_and_names_no_place() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    packages = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert packages
    assert [line for line in packages if not re.match(r"[\w.-]+==[\w.]+( ; .+)?$", line)] == []
