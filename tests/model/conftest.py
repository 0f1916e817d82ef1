"""Each error that a test of the model meets is judged by what it says, too."""

from collections.abc import Iterable

import pytest

from auroral.model.errors import DiagramError, Problem


@pytest.fixture(autouse=True)
def errors_say_what_is_allowed_and_what_next(monkeypatch: pytest.MonkeyPatch) -> None:
    make = DiagramError.__init__

    def judged(self: DiagramError, problems: Iterable[Problem], warnings: Iterable[Problem] = ()) -> None:
        make(self, problems, warnings)
        for problem in self.problems:
            assert problem.allowed and problem.next_step, f"{problem.what!r} lacks what is allowed, or what next"

    monkeypatch.setattr(DiagramError, "__init__", judged)
