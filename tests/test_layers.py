"""Who may import whom. The parts stay apart so that a client needs no Spark and a protocol does no I/O."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import auroral

PACKAGE = Path(__file__).parents[1] / "src" / "auroral"
STARTER = PACKAGE / "starter"

CORES = {"model", "dpc", "workload", "wan"}
ALL = CORES | {"reference", "engine", "wire", "edge", "client", "node", "sim", "ui", "reporting"}
MAY_IMPORT = {
    "model": set(),
    "reference": {"model"},
    "engine": {"model"},
    "dpc": {"model"},
    "workload": {"model"},
    "wan": {"model"},
    "wire": {"model", "dpc"},
    "edge": {"model", "dpc", "wire"},
    "client": {"model", "dpc", "wire", "edge"},
    "node": CORES | {"engine", "wire", "edge"},
    "sim": CORES | {"reference"},
    "reporting": CORES | {"engine", "wire", "edge", "node", "ui"},
    "ui": ALL | {"cli", "commands", "app", "demo"},
}
# The public API, and the programs on top of it, are no layer: they put the parts together.
PUTS_TOGETHER = {
    "__init__",
    "__main__",
    "adhoc",
    "app",
    "cli",
    "commands",
    "demo",
    "extend",
    "installed",
    "loading",
    "netmon",
}
IMPORTED_AS = {"pyyaml": "yaml"}


def modules() -> list[Path]:
    """All but the files that `auroral new` copies: those are programs of users."""
    return sorted(path for path in PACKAGE.rglob("*.py") if STARTER not in path.parents)


def test_no_part_is_called_as_a_function_that_users_call() -> None:
    """An import of the part would put the module in its place."""
    parts = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert parts & {*auroral.__all__} == set()


def part_of(module: Path) -> str:
    """The part that a module belongs to: the folder, or the module itself at the top."""
    relative = module.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Dotted names that a module imports, with lines; also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "." * node.level
            elif node.module == "auroral":
                for alias in node.names:
                    yield node.lineno, f"auroral.{alias.name}"
            else:
                yield node.lineno, node.module or ""


def may_import_pyspark(module: Path) -> bool:
    relative = module.relative_to(PACKAGE)
    part = part_of(module)
    return part == "engine" or part in PUTS_TOGETHER or (part == "edge" and relative.parts[1].startswith("spark"))


def violations(module: Path, source: str) -> list[str]:
    part = part_of(module)
    found = []
    for line, name in imported_names(ast.parse(source)):
        where = f"{module.relative_to(PACKAGE.parent)}:{line}"
        top, *rest = name.split(".")
        if name.startswith("."):
            found.append(f"{where}: relative import; write it from `auroral.` on")
        elif top in {"pyspark", "py4j"} and not may_import_pyspark(module):
            found.append(f"{where}: only engine and edge/spark* may import {top}")
        elif top == "auroral" and part not in PUTS_TOGETHER:
            target = rest[0] if rest else "__init__"
            allowed = MAY_IMPORT[part] | {part}
            if target not in allowed:
                found.append(f"{where}: {part} imports {name}, but may import only {sorted(allowed)}")
    return found


def test_there_is_something_to_check() -> None:
    assert modules()


@pytest.mark.parametrize("module", modules(), ids=lambda module: str(module.relative_to(PACKAGE)))
def test_module_keeps_the_rules(module: Path) -> None:
    part = part_of(module)
    assert part in MAY_IMPORT or part in PUTS_TOGETHER, f"{part} is not in the table of layers: add it there"
    assert violations(module, module.read_text()) == []


def test_every_imported_package_is_declared() -> None:
    with open(PACKAGE.parents[1] / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(r for name in extras if name != "dev" for r in extras[name])]
    declared = {re.split(r"\W", requirement)[0] for requirement in requirements}
    declared = {IMPORTED_AS.get(package, package) for package in declared}
    imported = {name.split(".")[0] for module in modules() for _, name in imported_names(ast.parse(module.read_text()))}
    # py4j is pyspark's own bridge to the JVM: its version is pyspark's choice.
    assert imported - sys.stdlib_module_names - {"auroral", "py4j"} <= declared


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("model/schema.py", "import pyspark.sql", "only engine and edge/spark* may import pyspark"),
        ("model/schema.py", "from auroral.engine import evaluate", "model imports auroral.engine"),
        ("model/schema.py", "def f():\n    from auroral import engine", "model imports auroral.engine"),
        ("model/schema.py", "import auroral", "model imports auroral"),
        ("reference/join.py", "from auroral.engine.sums import total", "reference imports"),
        ("wire/codec.py", "from auroral.node import loop", "wire imports"),
        ("edge/files.py", "from pyspark.sql import SparkSession", "only engine"),
        ("client/sender.py", "from auroral.node.source import Source", "client imports"),
        ("client/sender.py", "import pyspark", "only engine"),
        ("client/connecting.py", "from auroral.node.fleet import control", "client imports"),
        ("client/connecting.py", "import pyspark", "only engine"),
        ("engine/evaluate.py", "from ..model import schema", "relative import"),
    ],
)
def test_the_rules_bite(module: str, source: str, complaint: str) -> None:
    (found,) = violations(PACKAGE / module, source)
    assert complaint in found


def test_a_client_needs_neither_spark_nor_the_engine() -> None:
    code = (
        "import sys, auroral.client; print([n for n in sys.modules if n.split('.')[0] in ('pyspark', 'py4j')"
        " or n.startswith(('auroral.engine', 'auroral.node'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("model/check.py", "from auroral.model.schema import Schema"),
        ("engine/session.py", "from pyspark.sql import SparkSession"),
        ("edge/spark_source.py", "from pyspark.sql.datasource import DataSource"),
        ("node/loop.py", "from auroral.engine import evaluate\nfrom auroral.edge import files"),
        ("cli.py", "from auroral.engine import session"),
        ("__init__.py", "from auroral.node import run"),
    ],
)
def test_what_is_allowed(module: str, source: str) -> None:
    assert violations(PACKAGE / module, source) == []
