"""`auroral report`: one page of HTML on what a run or a deployment went through, and whether its output is right."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from auroral.commands.options import add_json, add_master
from auroral.commands.spark import failed_in_spark, session_for
from auroral.commands.terminal import FINE, WRONG_INPUT, WrongUse, say, say_json
from auroral.model.errors import AuroralError
from auroral.reporting.facts import NOT_ASKED, Facts, Verdict, facts_in
from auroral.reporting.page import page

NAME = "report"
SUMMARY = "write a page on a run: what failed when, what was tentative for how long, delays, ledger, and the proof of equality"
EXAMPLE = """\
  auroral report runs/live
  auroral report runs/live --out live.html --no-verify
  auroral report runs/live --json"""
_FILE = "report.html"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="RUN_FOLDER",
        help="of `auroral run` or of a deployment, also while it runs. It holds a pickle, which can run any code: report only on folders that "
        "you trust",
    )
    parser.add_argument("--out", metavar="FILE", help=f"where the page is written ({_FILE} in the folder)")
    parser.add_argument(
        "--no-verify",
        action="store_true",
        help="leave out the proof, which takes a batch run over all that was logged; the page says so",
    )
    add_master(parser)
    add_json(parser, "print what the page says as JSON, for machines; with --out the page is written, too")


def run(args: Namespace) -> int:
    path = Path(args.folder)
    facts = facts_in(path)
    out = Path(args.out) if args.out else path / _FILE
    if not args.json or args.out:
        # Before Spark is started for nothing.
        _must_be_writable(out)
    facts = replace(facts, verdict=NOT_ASKED if args.no_verify else _verified(args))
    if not args.json or args.out:
        _write(out, page(facts))
    if args.json:
        say_json(facts.to_json() | ({"page": str(out.absolute())} if args.out else {}))
    else:
        say(f"{_in_words(facts)}\nwritten: {out}")
    return WRONG_INPUT if facts.verdict.ok is False else FINE


def _verified(args: Namespace) -> Verdict:
    """A report is wanted most where something is wrong: that it cannot be proved is said in it."""
    session = session_for(args.master, debug=args.debug)
    from auroral.app import verify

    try:
        return Verdict(verify(args.folder, session))
    except AuroralError as error:
        return Verdict(why_not=str(error))
    except Exception as error:  # noqa: BLE001  whatever Spark came upon
        return Verdict(why_not=str(failed_in_spark("the batch run", error)))


def _in_words(facts: Facts) -> str:
    spells = sum(len(facts.courses[s].spells) + facts.courses[s].earlier for s in facts.outputs if s in facts.courses)
    happened = f"incidents: {len(facts.incidents)}; times tentative: {spells}"
    if not facts.deployed:
        happened = f"times begun: {len(facts.lives.spells) + facts.lives.earlier}"
    said = {
        True: "verified: the output equals one batch run",
        False: f"NOT verified: {facts.verdict.why}",
        None: "not verified (--no-verify)",
    }
    return f"{happened}; {said[facts.verdict.ok]}"


def _must_be_writable(out: Path) -> None:
    if out.is_dir() or not out.parent.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK):
        raise WrongUse(
            f"{out} cannot be written\n    allowed: a file in a folder that is there\n    next: another --out FILE"
        )


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AuroralError(f"{out} cannot be written: {error.strerror}\n    next: another --out FILE") from error
