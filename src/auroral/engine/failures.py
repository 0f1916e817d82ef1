"""What jobs fail with. User code that throws is said with the name of the box and function and the range of buckets.

What is raised in a worker comes back as text inside Spark's own error, so the names travel in that text between two marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from auroral.model.errors import AuroralError, Problem
from auroral.model.expression import Function
from auroral.model.expression.uservalues import as_arguments, as_result
from auroral.model.on_error import error_text, said

_OPEN, _CLOSE = "<auroral-failure>", "</auroral-failure>"
_MARKED = re.compile(f"{_OPEN}(.*?){_CLOSE}", re.DOTALL)


class UserCodeFailed(AuroralError):
    """A function that the user wrote raised an error: the same rows will raise it again."""

    def __init__(self, what: str, lo: int, hi: int):
        self.what, self.lo, self.hi = what, lo, hi
        problem = Problem(
            f"{what}, in the buckets of stime [{lo}, {hi})",
            allowed="functions that give a value of their type, or None, for every row",
            # Another diagram is another run; a mended function is not.
            next_step="mend the function, then start again: a run that has a folder goes on there with the same rows; or, in "
            "a new run, filter out such rows before it, or reject them with on_error='reject' on a filter or map",
        )
        super().__init__(str(problem))


def described(what: str, error: BaseException, given: Any = None) -> str:
    """`what` failed, why, and with which values where they are short enough to be read."""
    values = "" if given is None else f" of {given!r}"
    if len(values) > 200:
        values = values[:200] + "..."
    return f"{what}{values} failed: {said(error)}"


def marked(what: str, error: BaseException, given: Any = None) -> RuntimeError:
    """What a worker raises in the place of a user's error."""
    return RuntimeError(f"{_OPEN}{described(what, error, given)}{_CLOSE}")


def guarded(what: str, user: Function) -> Callable[..., Any]:
    """The user's function as one that does not raise: it gives (result, error, error with box and values), see `reached`.

    Times come and go as plain numbers. Those that Python does not have are errors of the call.
    """

    call, name = user.call, user.name
    arguments, result = as_arguments(user.args), as_result(user.returns)
    assert call is not None

    def function(*given: Any) -> tuple[Any, str | None, str | None]:
        try:
            given = tuple(arguments(given))
            return result(call(*given)), None, None
        except BaseException as error:
            if isinstance(error, MemoryError) or not isinstance(error, Exception | SystemExit):
                # Not the row's fault: elsewhere it may well pass.
                raise marked(what, error, given) from error
            return None, error_text(name, error), str(marked(what, error, given))

    return function


def explained(error: BaseException, lo: int, hi: int) -> UserCodeFailed | None:
    """The user's error inside a Spark error, or None where it is about something else."""
    found = _MARKED.search(str(error))
    return UserCodeFailed(found[1], lo, hi) if found is not None else None


def may_pass(error: BaseException) -> bool:
    """Whether the same job may well succeed the next time: Spark itself failed, as when a worker is lost.

    What a user's function raised, and a statement that Spark refuses, are certain.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    return isinstance(error, Py4JError | PySparkException) and not isinstance(error, AnalysisException)
