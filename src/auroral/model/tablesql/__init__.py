"""The SQL of table boxes: one statement about one table. `parse` reads it, `resolve` gives its types.

Conditions and values are expressions of `auroral.model.expression`, with its types and results. Nothing here evaluates anything.
"""

from __future__ import annotations

from auroral.model.tablesql.parse import parse_sql
from auroral.model.tablesql.syntax import Delete, Insert, Select, Statement, Update

__all__ = ["parse_sql", "Statement", "Insert", "Select", "Update", "Delete"]
