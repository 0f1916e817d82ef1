"""Rewrite the generated parts of the documentation, or with --check only say whether they are up to date.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`; NAME is a key of GENERATORS.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PART = re.compile(r"(?P<open><!-- generated: (?P<name>[\w-]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)
MARKER = re.compile(r"<!-- (?:generated:.*?|end) -->")


def boxes() -> str:
    from auroral import model

    return model.box_table()


def commands() -> str:
    """A section for each command, from its parser: not argparse's own text, which depends on the terminal."""
    from auroral import cli

    choices = next(a for a in cli.make_parser()._actions if isinstance(a, argparse._SubParsersAction)).choices
    parts = []
    for module in cli.COMMANDS:
        parser = choices[module.NAME]
        rows = [(_spelling(action), action.help or "") for action in parser._actions if action.dest != "help"]
        table = ["| argument | meaning |", "|---|---|"]
        table += [f"| {spelling} | {meaning.replace('|', chr(92) + '|')} |" for spelling, meaning in rows]
        lines = (line.removeprefix("  ") for line in module.EXAMPLE.splitlines())
        example = "\n".join(f"$ {line}" if line.startswith("auroral") else line for line in lines)
        summary = f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}."
        block = f"```console parsed\n{example}\n```"
        parts.append("\n".join([f"## auroral {module.NAME}", "", summary, "", *table, "", block]))
    return "\n\n".join(parts) + "\n"


def _spelling(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        return f"`{value}`"
    return f"`{action.option_strings[-1]}{'' if action.nargs == 0 else ' ' + value}`"


def functions() -> str:
    from auroral.model.expression import BUILTINS

    rows = [f"| `{f.usage}` | {f.meaning} |" for f in BUILTINS.values()]
    return "\n".join(["| function | gives |", "|---|---|", *rows]) + "\n"


def coverage(part: str) -> Callable[[], str]:
    """A table of the page on what of Borealis' files has an effect."""

    def table() -> str:
        from auroral.model.xml import coverage

        made: str = getattr(coverage, part)()
        return made

    return table


def experiments() -> str:
    """How many of the published statements hold in the stored report, and those that do not."""
    stored = json.loads((ROOT / "bench/results/experiments/report.json").read_text(encoding="utf-8"))
    found = [(each["name"], one) for each in stored["experiments"] for one in each["statements"]]
    rows = [f"| {name} | {one['published']} | {one['why']} |" for name, one in found if not one["holds"]]
    said = f"Of {len(found)} statements {len(found) - len(rows)} hold. Those that do not:"
    return "\n".join([said, "", "| | statement | here |", "|---|---|---|", *rows]) + "\n"


def faults() -> str:
    from auroral.sim.faults import VERBS

    rows = [f"| `{name}` | {verb.meaning} | {f'`{verb.end}`' if verb.end else ''} |" for name, verb in VERBS.items()]
    return "\n".join(["| verb | what happens | until |", "|---|---|---|", *rows]) + "\n"


def invariants() -> str:
    from auroral.sim.invariants import INVARIANTS
    from auroral.sim.invariants.going import AsItGoes

    rows = [
        f"| `{check.__name__}` | {' '.join((check.__doc__ or '').split())} | {'as it goes' if isinstance(check, AsItGoes) else 'at the end'} |"
        for check in INVARIANTS
    ]
    return "\n".join(["| guarantee | what must hold | judged |", "|---|---|---|", *rows]) + "\n"


def market_invariants() -> str:
    from auroral.sim.market.invariants import INVARIANTS

    rows = [f"| `{kind.__name__}` | {' '.join((kind.__doc__ or '').split())} |" for kind in INVARIANTS]
    return "\n".join(["| guarantee | what must hold |", "|---|---|", *rows]) + "\n"


def metrics() -> str:
    from auroral.node.fleet.metrics.families import as_markdown

    return as_markdown()


def one_feed() -> str:
    from auroral.dpc import switching

    return switching.as_markdown(switching.TABLE_4_2)


def two_feeds() -> str:
    from auroral.dpc import switching

    return switching.as_markdown(switching.TABLE_4_3)


GENERATORS: Mapping[str, Callable[[], str]] = {
    "boxes": boxes,
    "commands": commands,
    "coverage-boxes": coverage("box_types"),
    "coverage-deployments": coverage("deployment_elements"),
    "coverage-elements": coverage("elements"),
    "coverage-parameters": coverage("parameters"),
    "coverage-tables": coverage("table_parameters"),
    "experiments": experiments,
    "faults": faults,
    "functions": functions,
    "invariants": invariants,
    "market-invariants": market_invariants,
    "metrics": metrics,
    "one-feed": one_feed,
    "two-feeds": two_feeds,
}


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def regenerate(text: str, generators: Mapping[str, Callable[[], str]] = GENERATORS) -> str:
    """The page with each generated part written anew; ValueError for an unknown name or a lone marker."""
    if len(MARKER.findall(text)) != 2 * len(PART.findall(text)):
        raise ValueError("a `generated` marker without its `end`, or the other way round")

    def write(part: re.Match[str]) -> str:
        name = part["name"]
        if name not in generators:
            raise ValueError(f"nothing generates {name!r}; known: {', '.join(sorted(generators))}")
        return f"{part['open']}\n{generators[name]().strip()}\n\n{part['close']}"

    return PART.sub(write, text)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is out of date")
    check = parser.parse_args(argv).check
    outdated = 0
    for page in pages():
        before = page.read_text(encoding="utf-8")
        try:
            after = regenerate(before)
        except ValueError as error:
            print(f"{page.relative_to(ROOT)}: {error}", file=sys.stderr)
            return 2
        if after == before:
            continue
        outdated += 1
        name = str(page.relative_to(ROOT))
        if check:
            print("".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, name)))
        else:
            page.write_text(after, encoding="utf-8")
            print(f"wrote {name}")
    if check and outdated:
        print("Out of date: run `make docs`.", file=sys.stderr)
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
