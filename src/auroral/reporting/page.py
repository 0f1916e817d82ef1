"""The facts of a run as one page of HTML: nothing in it is fetched from anywhere, and every value is escaped."""

from __future__ import annotations

import math
from importlib.resources import files
from itertools import pairwise

from auroral.node.course import Course, Spell
from auroral.reporting import plots
from auroral.reporting.facts import Facts
from auroral.reporting.incidents import Incident
from auroral.reporting.markup import Child, Markup, table, tag
from auroral.reporting.times import length, moment, of_day

MOST_ROWS = 200
"""Of a table: the first are shown, and the others counted."""


def page(facts: Facts) -> str:
    axis = plots.Axis(facts.began or facts.made, facts.ended or facts.made)
    title = f"{facts.diagram}: report of a {'deployment' if facts.deployed else 'run'}"
    style = (files("auroral.reporting") / "style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    sections = [_head(facts, title), _tiles(facts), _failed(facts, axis)]
    if facts.deployed:
        sections += [_output(stream, facts, axis) for stream in facts.outputs]
    sections += [_ledger(facts), _proof(facts), _about(facts)]
    body = tag("body", tag("main", sections))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _section(title: str, *children: Child) -> Markup:
    return tag("section", tag("h2", title), children)


def _head(facts: Facts, title: str) -> Markup:
    when = "nothing was recorded yet"
    if facts.began is not None and facts.ended is not None:
        when = f"{moment(facts.began)} to {moment(facts.ended)} UTC, {length(facts.ended - facts.began)}"
    goes_on = "runs now" if facts.running else ""
    if not facts.deployed:
        goes_on = "finished" if facts.finished else "not finished"
    said = f"{when}{'; ' if goes_on else ''}{goes_on}. Written {moment(facts.made)} UTC."
    return tag("header", tag("h1", title), tag("p", said), tag("p", str(facts.folder), class_="place"), _verdict(facts))


def _verdict(facts: Facts) -> Markup:
    verdict = facts.verdict
    if verdict.ok is None:
        words = (
            f"Not verified: {verdict.why}. Whether the output is right is not said here: auroral verify {facts.folder}"
        )
        return tag("p", tag("b", "? "), words, class_="verdict unknown")
    if verdict.ok:
        words = "Proved: the stable output equals one plain batch run over the logged rows, bit for bit."
        return tag("p", tag("b", "✓ "), words, class_="verdict right")
    more = "" if verdict.report is None else "; see Proof below"
    return tag("p", tag("b", "✗ "), f"NOT verified: {verdict.why}{more}", class_="verdict wrong")


def _tiles(facts: Facts) -> Markup:
    found: list[Markup] = []

    def tile(name: str, value: str, more: str = "", bad: bool = False) -> None:
        parts = (tag("span", name), tag("b", value), tag("small", more))
        found.append(tag("li", parts, class_="bad" if bad else None))

    if facts.deployed:
        courses = {stream: facts.courses.get(stream, Course()) for stream in facts.outputs}
        for stream, course in courses.items():
            bound, worst = facts.bounds.get(stream, math.inf), course.total().highest.get("delay")
            against = f"X = {bound:g} s" if bound < math.inf else "no bound was set"
            if worst is not None:
                tile(f"longest delay, {stream}", length(worst), against, worst >= bound)
        spells = [spell for course in courses.values() for spell in course.spells]
        seconds = sum(_seconds(spell, facts) for spell in spells) + sum(c.earlier_seconds for c in courses.values())
        times = len(spells) + sum(course.earlier for course in courses.values())
        tile("tentative", length(seconds), f"in {times} spell{'s'[: times != 1]}")
        counts = sum((course.total().counts for course in courses.values()), start=Course().total().counts)
        more = f"{counts['confirmed']:,} confirmed as they were"
        tile("buckets corrected", f"{counts['corrected']:,}", more)
        left = sum(spell.ended is None for spell in spells)
        tile("tentative at the end", str(left), "outputs", bool(left))
        tile("incidents", str(len(facts.incidents)), "see below")
    else:
        total = facts.lives.total().counts
        tile("rows evaluated", f"{total['in']:,}", f"in {total['jobs']:,} jobs, {total['buckets']:,} buckets")
        tile("lives", str(len(facts.lives.spells) + facts.lives.earlier), "times that it was begun or resumed")
        tile("jobs run again", str(total["jobs run again"]), "after Spark failed", total["jobs run again"] > 0)
    rows = sum(count for _, _, count, unit in facts.ledger if unit == "rows")
    tile("ledger", f"{rows:,}" if facts.ledger else "none", "rows that did not go the ordinary way")
    return tag("ul", found, class_="tiles")


def _seconds(spell: Spell, facts: Facts) -> float:
    return (facts.ended or facts.made if spell.ended is None else spell.ended) - spell.began


def _failed(facts: Facts, axis: plots.Axis) -> Markup:
    if not facts.deployed:
        return _section("How it ran", plots.work(facts.lives, axis), _lives(facts))
    if not facts.incidents:
        said: Child = tag("p", "Nothing failed that the processes know of.", class_="none")
    else:
        rows = [_incident(number, one) for number, one in enumerate(facts.incidents[:MOST_ROWS], 1)]
        said = [
            table(("", "when (UTC)", "lasted", "who", "what"), rows, (0,)),
            _more(len(facts.incidents), MOST_ROWS, "incidents"),
        ]
    legend = tag("ul", [_sign(name, words) for name, words in _CONDITIONS.items()], class_="legend")
    drawn = plots.timeline(facts.timeline, facts.incidents[:MOST_ROWS], axis) if facts.timeline else None
    return _section("What failed, and when", drawn, legend if drawn else None, said)


_CONDITIONS = {
    "stable": "stable",
    "tentative": "tentative: something is missing",
    "stabilising": "stabilising: being corrected",
    "blocked": "blocked: cannot go on",
    "silent": "silent",
    "failed": "failed",
    "unknown": "starts, or was ended",
}
_CAME = {
    "stable": "stable at once",
    "tentative": "tentative",
    "corrected": "corrected",
    "confirmed": "confirmed as it was",
    "missed": "lost in a gap",
}


def _sign(name: str, words: str, kind: str = "swatch") -> Markup:
    return tag("li", tag("i", class_=f"{kind} {name}"), words)


def _incident(number: int, one: Incident) -> list[Child]:
    lasted = "" if one.point else "not over" if one.end is None else length(one.end - one.begin)
    what: Child = [one.what, tag("small", f": {one.detail}") if one.detail else None]
    return [str(number), _when(one.begin), lasted, one.who, what]


def _lives(facts: Facts) -> list[Child]:
    spells = facts.lives.spells
    if not spells:
        return [tag("p", "Of its course nothing was recorded.", class_="none")]
    rows: list[list[Child]] = []
    for spell, after in pairwise((*spells, None)):
        assert spell is not None
        end = str(spell.said.get("state", ""))
        if spell.ended is None:
            end = "runs, or was killed" if after is None else "was killed: it said nothing of its end"
        failed = str(spell.said.get("failed") or "")
        lasted = "" if spell.ended is None else length(spell.ended - spell.began)
        rows.append([_when(spell.began), lasted, end, failed])
    return [
        table(("begun (UTC)", "lasted", "ended as", "because"), rows[:MOST_ROWS]),
        _more(len(rows), MOST_ROWS, "lives"),
        tag("p", f"{facts.lives.earlier} earlier lives are not listed.") if facts.lives.earlier else None,
    ]


def _output(stream: str, facts: Facts, axis: plots.Axis) -> Markup:
    course = facts.courses.get(stream, Course())
    total, bound = course.total(), facts.bounds.get(stream, math.inf)
    counts = ", ".join(f"{total.counts[kind]:,} {words}" for kind, words in _CAME.items() if total.counts[kind])
    if not total:
        return _section(f"Output {stream}", tag("p", "Nothing was delivered yet.", class_="none"))
    legend = tag("ul", [_sign(name, words, "came") for name, words in _CAME.items()], class_="legend")
    said = f"Buckets: {counts}."
    if (longest := total.highest.get("tentative for")) is not None:
        said += f" The longest that one was tentative: {length(longest)}."
    if course.length > 1:
        said += f" Recorded in slots of {length(course.length)}."
    return _section(
        f"Output {stream}", tag("p", said), plots.delays(course, bound, axis), legend, _spells(course, facts)
    )


def _spells(course: Course, facts: Facts) -> list[Child]:
    if not course.spells:
        return [tag("p", "Nothing of it was ever tentative.", class_="none")]
    rows: list[list[Child]] = []
    for spell in course.spells[-MOST_ROWS:]:
        said = spell.said
        lacked = ", ".join(f"{source} ({level})" for source, level in (said.get("lacked") or {}).items())
        lasted = length(_seconds(spell, facts)) + (" so far" if spell.ended is None else "")
        if said.get("earlier_life"):
            lacked = f"{lacked} (the client was killed meanwhile: what was tentative before is not counted)".strip()
        counts = [str(said.get(kind, 0)) for kind in ("tentative", "corrected", "confirmed", "missed")]
        ended = "" if spell.ended is None else of_day(spell.ended)
        rows.append([_when(spell.began), ended, lasted, *(counts if spell.ended is not None else [""] * 4), lacked])
    hidden = course.earlier + max(0, len(course.spells) - MOST_ROWS)
    head = ("tentative from (UTC)", "to", "lasted", "buckets", "corrected", "confirmed", "lost", "what was lacking")
    before = (
        f"{hidden} earlier spells are not listed; those that are only counted lasted {length(course.earlier_seconds)}."
    )
    return [table(head, rows, (3, 4, 5, 6)), tag("p", before) if hidden else None]


def _ledger(facts: Facts) -> Markup:
    if not facts.ledger:
        return _section("Ledger", tag("p", "None: every row that was read went the ordinary way.", class_="none"))
    rows = [[of, reason, f"{count:,}", unit] for of, reason, count, unit in facts.ledger]
    said = tag("p", "Rows that did not go the ordinary way, and buckets that are lost, by stream or box.")
    shown = table(("stream or box", "reason", "how many", "of what"), rows[:MOST_ROWS], (2,))
    return _section("Ledger", said, shown, _more(len(rows), MOST_ROWS, "lines"))


def _proof(facts: Facts) -> Markup:
    verdict = facts.verdict
    if verdict.report is None:
        return _section("Proof", tag("p", f"There is none: {verdict.why}.", class_="none"))
    report = verdict.report
    rows: list[list[Child]] = []
    for one in report.outputs:
        said = "equal" if one.ok else "DIFFERENT" if one.frontier is not None else "nothing compared"
        found = (one.rows_run, one.rows_batch, one.only_run, one.only_batch)
        rows.append([one.stream, said, *(f"{count:,}" for count in found)])
    head = ("output", "verdict", "rows in the run", "in the batch run", "only in the run", "only in the batch run")
    sums = [
        [line.what, f"{line.found:,}", f"{line.expected:,}", "comes out" if line.ok else "DOES NOT"]
        for line in report.ledger
    ]
    parts: list[Child] = [
        tag(
            "p",
            "One plain batch run over the rows that the sources logged, compared row by row with what the run gave.",
        ),
        table(head, rows, (2, 3, 4, 5)),
        tag("h3", "Sums that must come out"),
        table(("sum", "found", "expected", ""), sums, (1, 2)),
        tag("h3", "In the words of auroral verify"),
        tag("pre", report.text),
    ]
    return _section("Proof", *parts)


def _about(facts: Facts) -> Markup:
    taken = [[s, way, f"{rows:,}", "ended" if end else "open"] for s, (way, rows, end) in facts.inputs.items()]
    given = [[s, way or "-", _stime(at)] for s, (way, at) in facts.outputs.items()]
    return _section(
        "What ran",
        table(("input", "from", "rows logged", ""), taken, (2,)),
        table(("output", "also written to", "stable up to (UTC)"), given),
        tag("p", f"Run {facts.run}, in buckets of {facts.bucket:g} s. The diagram, as Mermaid text:"),
        tag("pre", facts.picture),
    )


def _stime(at: int | None) -> str:
    if at is None:
        return "nothing yet"
    try:
        return moment(at / 1e6)
    except (OverflowError, ValueError, OSError):
        # Times that no calendar has.
        return f"{at} us"


def _when(at: float) -> Markup:
    """In one piece, wherever a line ends."""
    return tag("time", moment(at))


def _more(there: int, shown: int, what: str) -> Child:
    return tag("p", f"And {there - shown:,} more {what}: auroral report --json has all.") if there > shown else None
