"""Statistics of a node as named time series of fixed length (L75-L77): rates, latencies, costs, selectivities, queues, processor, memory, bandwidth.

Of each kind there is one interval, the precision, and one number of intervals, the window; all objects of a kind are sampled together. What is
stored never changes: a writer puts a new series in the place of the old one, so that whoever reads has a whole one, and neither waits for the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from auroral.model.errors import AuroralError


class NoStatistics(AuroralError):
    """Of a kind or an object that there is not."""


def mean(samples: tuple[float, ...], begin: float = 0.0, end: float = 0.0) -> float:
    """Of the part between two positions, which need not be whole; 0 is the newest end. Of all, if both are 0."""
    end = end or float(len(samples))
    if not 0 <= begin < end <= len(samples):
        raise NoStatistics(
            f"there are {len(samples)} samples, and not those from {begin:g} to {end:g}\n    allowed: positions in between"
        )
    weighted = (min(end, place + 1) - max(begin, place) for place in range(math.floor(begin), math.ceil(end)))
    return sum(weight * samples[math.floor(begin) + n] for n, weight in enumerate(weighted)) / (end - begin)


def deviation(total: float, squares: float, count: float) -> float:
    """The standard deviation of what came to these sums."""
    return math.sqrt(max(0.0, squares / count - (total / count) ** 2)) if count else 0.0


@dataclass(frozen=True, slots=True)
class Series:
    """All objects of one kind, the newest sample first. Each is the mean over one interval."""

    begin: float
    """Where the window begins; it ends `precision * window` later."""
    precision: float
    window: int
    samples: Mapping[str, tuple[float, ...]]

    @property
    def end(self) -> float:
        return self.begin + self.precision * self.window

    def of(self, name: str) -> tuple[float, ...]:
        if name not in self.samples:
            raise NoStatistics(f"there is no {name!r}\n    allowed: {', '.join(sorted(self.samples)) or 'none yet'}")
        return self.samples[name]

    def resampled(
        self, begin: float | None = None, precision: float | None = None, window: int | None = None
    ) -> Series:
        """On another grid. What the stored window does not cover is left out; a value is the mean of the samples that its interval covers,
        each by how much of it."""
        step = precision or self.precision
        first = self.begin if begin is None else begin
        last = first + step * (window or self.window)
        # Whole steps of the grid around what is covered.
        low = first + step * max(0, math.floor((self.begin - first) / step))
        high = min(last, first + step * math.ceil((self.end - first) / step))
        count = max(0, round((high - low) / step))
        cut = {
            name: tuple(self._mean(one, low, step, count - 1 - n) for n in range(count))
            for name, one in self.samples.items()
        }
        return Series(low, step, count, cut)

    def _mean(self, samples: tuple[float, ...], low: float, step: float, number: int) -> float:
        """Of the interval with this number from `low` on, as far as it is covered."""
        begin = max(low + step * number, self.begin)
        end = min(low + step * (number + 1), self.end)
        return (
            mean(samples, (self.end - end) / self.precision, (self.end - begin) / self.precision)
            if end > begin
            else 0.0
        )


@dataclass(slots=True)
class Statistics:
    """Written by one, read by many."""

    _kinds: Mapping[str, Series] = field(default_factory=dict)

    def add(self, kind: str, precision: float, window: int, begin: float = 0.0) -> None:
        """A kind of statistics, without objects."""
        if kind in self._kinds or precision <= 0 or window < 1:
            raise NoStatistics(
                f"{kind}: {window} intervals of {precision:g} s\n    allowed: each kind once, one interval or more, longer than 0"
            )
        self._put(kind, Series(begin - precision * window, precision, window, {}))

    def begin(self, kind: str, names: Iterable[str]) -> None:
        """Of these objects there are samples from now on, and zeros until now."""
        series = self.copy(kind)
        new = {name: (0.0,) * series.window for name in names if name not in series.samples}
        self._put(kind, replace(series, samples=MappingProxyType({**series.samples, **new})))

    def end(self, kind: str, names: Iterable[str]) -> None:
        series, gone = self.copy(kind), set(names)
        for name in gone:
            series.of(name)
        left = {name: samples for name, samples in series.samples.items() if name not in gone}
        self._put(kind, replace(series, samples=MappingProxyType(left)))

    def sample(self, kind: str, values: Mapping[str, float]) -> None:
        """The means of the interval that has just ended; 0 of objects that nothing is said of."""
        series = self.copy(kind)
        for name in values:
            series.of(name)
        later = {name: (values.get(name, 0.0), *samples[:-1]) for name, samples in series.samples.items()}
        self._put(kind, replace(series, begin=series.begin + series.precision, samples=MappingProxyType(later)))

    def copy(self, kind: str, names: Iterable[str] | None = None) -> Series:
        """As it is at this moment."""
        if kind not in self._kinds:
            raise NoStatistics(
                f"there are no statistics of {kind!r}\n    allowed: {', '.join(sorted(self._kinds)) or 'none yet'}"
            )
        series = self._kinds[kind]
        return series if names is None else replace(series, samples={name: series.of(name) for name in names})

    def _put(self, kind: str, series: Series) -> None:
        self._kinds = {**self._kinds, kind: series}


@dataclass(frozen=True, slots=True)
class Average:
    """Exponentially weighted: what is new counts by its weight."""

    weight: float = 0.02
    value: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.weight <= 1:
            raise NoStatistics(f"a new sample has a weight of {self.weight:g}\n    allowed: more than 0, up to 1")

    def with_sample(self, sample: float) -> Average:
        """The first sample is the average."""
        value = sample if self.value is None else (1 - self.weight) * self.value + self.weight * sample
        return replace(self, value=value)
