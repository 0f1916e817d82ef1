"""Queries that are attached to what runs: first over what is kept of a stream, then live, and detached again.

They are evaluated where they are asked, by a Spark of their own: nothing is changed in the run or deployment, and nothing stays there.
"""

from auroral.adhoc.asking import query
from auroral.adhoc.evaluating import Query
from auroral.adhoc.feeds import QueryError

__all__ = ["Query", "QueryError", "query"]
