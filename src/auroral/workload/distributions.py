"""How loads and spikes are distributed (L48): bounded Pareto, of which the uniform distribution is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pareto:
    """On [least, most], F(x) = (1-(least/x)**alpha) / (1-(least/most)**alpha). With alpha between 0 and 2 there are a few large ones; -1 is
    uniform, and less than that mostly large ones. Not 0."""

    alpha: float
    least: float
    most: float

    def cumulative(self, x: Floats) -> Floats:
        return np.asarray((1 - (self.least / x) ** self.alpha) / self._whole)

    def quantile(self, share: Floats) -> Floats:
        """The load that this share is below: of a random share, a random load."""
        return np.asarray(self.least * (1 - share * self._whole) ** (-1 / self.alpha))

    @property
    def mean(self) -> float:
        """Equation 6.10."""
        a, k, t = self.alpha, self.least, self.most
        if a == 1:
            return float(k / self._whole * np.log(t / k))
        return float(k**a / self._whole * a / (a - 1) * (k ** (1 - a) - t ** (1 - a)))

    @property
    def median(self) -> float:
        return float(self.quantile(np.array(0.5)))

    @property
    def _whole(self) -> float:
        return float(1 - (self.least / self.most) ** self.alpha)
