"""Rows on their way from a file to the stamper, and the errors of a file as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from auroral.edge.refusals import Refused
from auroral.model.errors import AuroralError, nearest


class InputError(AuroralError):
    """An input file that cannot be read at all. Nothing of it was taken."""


class MissingColumns(InputError):
    """An input file without a field that the schema declares."""

    def __init__(self, file: str, missing: Sequence[str], found: Sequence[str]):
        guesses = [(name, nearest(name, found)) for name in missing]
        step = _separated(missing, found) or "; ".join(
            f"did you mean {guess!r} for {name!r}?" for name, guess in guesses if guess
        )
        super().__init__(
            f"{file}: no column {', '.join(map(repr, missing))}\n"
            f"    allowed: columns of the file are {', '.join(found) or 'none'}\n"
            f"    next: {step or 'add the column to the file, or take the field out of the schema'}"
        )


def _separated(missing: Sequence[str], found: Sequence[str]) -> str | None:
    """What to do about a file whose one column is all of its columns, with something else than commas between them."""
    for separator, shown in ((";", "';'"), ("\t", "tabs"), ("|", "'|'")):
        if len(found) == 1 and set(missing) <= {name.strip() for name in found[0].split(separator)}:
            return f"its columns seem to be separated by {shown}: write the file with commas"
    return None


@dataclass(frozen=True, slots=True)
class Batch:
    """`read` rows of an input from row number `first` on: the good ones in `rows`, the others in
    `refused`, by row number."""

    rows: pa.Table
    first: int
    read: int
    refused: tuple[Refused, ...] = ()

    @property
    def end(self) -> int:
        """The row number after the last: what to skip in order to go on behind this batch."""
        return self.first + self.read

    def split(self, row: int) -> tuple[Batch, Batch]:
        """The part before this row number, and the part from it on."""
        reach = min(max(row - self.first, 0), self.read)
        middle = self.first + reach
        refused = sum(refusal.row < middle for refusal in self.refused)
        good = reach - refused
        return (
            Batch(self.rows.slice(0, good), self.first, reach, self.refused[:refused]),
            Batch(self.rows.slice(good), middle, self.read - reach, self.refused[refused:]),
        )

    def cut(self, ends: Sequence[int]) -> Iterator[Batch]:
        """Cut behind the given numbers of good rows, rising, and at the end; refused rows stay in their
        places."""
        offsets = [refusal.row - self.first for refusal in self.refused]
        places = np.delete(np.arange(self.read), offsets)
        good, done, taken = 0, 0, 0
        for end in [*(e for e in ends if 0 < e < self.rows.num_rows), self.rows.num_rows]:
            reach = int(places[end]) if end < self.rows.num_rows else self.read
            upto = taken
            while upto < len(offsets) and offsets[upto] < reach:
                upto += 1
            yield Batch(self.rows.slice(good, end - good), self.first + done, reach - done, self.refused[taken:upto])
            good, done, taken = end, reach, upto
