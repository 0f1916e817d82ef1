"""What is tentative: computed from versions that there were, and said to be of what it is."""

from __future__ import annotations

from collections.abc import Iterator

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.settings import Policy
from auroral.sim.invariants.going import AsItGoes, Judging, News
from auroral.sim.seen import Given, Run


@AsItGoes
def views_are_right(run: Run) -> Judging:
    """D39, D48: what is evaluated are versions of the buckets that they stand for."""
    wrong = News(run.wrong_views)
    while True:
        for at, core, stream, bucket in wrong:
            yield f"{core}: read something else as bucket {bucket} of {stream} at {at:.2f} s"
        yield None


@AsItGoes
def tentative_is_right(run: Run) -> Judging:
    """D39: a tentative bucket is the evaluation of what was there, and nothing else."""
    given = News(run.given)
    while True:
        for one in given:
            if one.gaps is None:
                yield f"{one.core}: bucket {one.bucket} of {one.stream}, tentative at {one.at:.2f} s, is no result for it"
        yield None


@AsItGoes
def no_guesses_unless_so_set(run: Run) -> Judging:
    """D45: without a bound, and where everything is suspended, nothing is guessed. Parts of a source's open bucket are no guesses."""
    settings = run.scenario.settings
    suspends = settings.while_failing is settings.while_correcting is Policy.SUSPEND
    given = News(run.given)
    while settings.bound == float("inf") or suspends:
        for one in given:
            if one.stream not in run.scenario.sources:
                yield f"{one.core}: bucket {one.bucket} of {one.stream} is tentative at {one.at:.2f} s"
        yield None


@AsItGoes
def coverage_is_right(run: Run) -> Judging:
    """Coverage: what it says is missing or partial is what is, bucket by bucket; and it speaks of every source."""
    given, scenario = News(run.given), run.scenario
    sources = {stream: scenario.always_computed_from(stream) for stream in scenario.streams}
    while True:
        for one in given:
            yield from _wrongly_covered(one, sources[one.stream])
        yield None


def _wrongly_covered(one: Given, sources: set[str]) -> Iterator[str]:
    if one.gaps is None:
        return
    said = {place: level for place, level in _said(one.coverage) if level is not Level.COMPLETE}
    if said != one.gaps:
        differ = sorted(set(said.items()) ^ set(one.gaps.items()))[0]
        yield (
            f"{one.core}: bucket {one.bucket} of {one.stream}, tentative at {one.at:.2f} s, is said to be of something else "
            f"than it is: {differ[0][0]}, bucket {differ[0][1]}"
        )
    unsaid = sources - set(one.coverage.spans)
    if unsaid:
        yield f"{one.core}: bucket {one.bucket} of {one.stream} does not say what it has of {', '.join(unsaid)}"


@AsItGoes
def constraints_hold(run: Run) -> Judging:
    """Constraints: what is given tentatively has enough of its sources in it, and well enough."""
    given = News(run.given)
    outputs = {output.stream: output for query in run.scenario.queries for output in query.outputs}
    while True:
        for one in given:
            worst: dict[str, int] = {}
            for (source, _), level in (one.gaps or {}).items():
                worst[source] = max(level, worst.get(source, level))
            for asked in outputs[one.stream].constraints if one.stream in outputs else ():
                there = sum(worst.get(source, Level.COMPLETE) <= asked.worst for source in asked.sources)
                if there < asked.number:
                    yield (
                        f"{one.core}: bucket {one.bucket} of {one.stream}, tentative at {one.at:.2f} s, has {there} of at least "
                        f"{asked.number} sources"
                    )
        yield None


def _said(coverage: Coverage) -> Iterator[tuple[tuple[str, int], Level]]:
    for source, spans in coverage.spans.items():
        for begin, end, level in spans:
            yield from (((source, bucket), level) for bucket in range(begin, end))
