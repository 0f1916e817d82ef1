"""Functions of Spark SQL that cannot stand in a box, and why. The lists are those of pyspark 4's function registry."""

from __future__ import annotations

import re

from auroral.model.errors import Problem
from auroral.model.expression.sqltokens import words

# A clock, a random source, the session, the machine or the placement of rows decides what these give.
_NOT_REPEATABLE = words(
    """
    rand random randn randstr uniform uuid shuffle aes_encrypt
    now current_timestamp current_date curdate current_time localtimestamp localtime current_timezone
    monotonically_increasing_id spark_partition_id input_file_name input_file_block_start input_file_block_length
    java_method reflect try_reflect version user current_user session_user current_database current_schema
    current_catalog current_path
    """
)
_CLOCK_WITHOUT_ARGUMENTS = frozenset(("unix_timestamp", "to_unix_timestamp"))
_THROWING = frozenset(("raise_error", "assert_true"))
_ROWS_OF_ONE = words(
    "stack posexplode explode inline explode_outer posexplode_outer inline_outer json_tuple variant_explode"
    " variant_explode_outer"
)
_WINDOWED = words(
    "ntile rank nth_value lead cume_dist dense_rank row_number counter_diff percent_rank lag window session_window"
    " window_time"
)
_AGGREGATES = words(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or
    collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp every first
    first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis
    last last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg
    theta_union_agg try_avg try_sum tuple_intersection_agg_double tuple_intersection_agg_integer
    tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp
    variance
    """
)

# Of the others, the result depends on the order in which rows are seen: at least where they are floating numbers.
_ORDER_FREE = words(
    """
    any approx_count_distinct bit_and bit_or bit_xor bool_and bool_or count count_if every grouping grouping_id max
    median min percentile some window session_window window_time
    """
)

# Without parentheses these are functions as well, unless a field has their name.
CLOCK_WORDS = words(
    "current_timestamp current_date current_time current_user session_user user localtimestamp localtime"
)
TIME_WORDS = frozenset(("date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time"))
_WHOLE_DATE = re.compile(r"[+-]?\d{4}|epoch\b", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"T?\d", re.IGNORECASE)


def is_whole_time(kind: str, text: str) -> bool:
    """Whether a text says all of a time: of TIMESTAMP 'today UTC' or '12:30', Spark takes the date from its clock."""
    return (_TIME_OF_DAY if kind == "time" else _WHOLE_DATE).match(text.lstrip()) is not None


def not_repeatable(name: str) -> Problem:
    return Problem(
        f"{name} gives something else each time, or on each machine",
        allowed="functions of the row alone: no clock, no random source, no session",
        next_step="take times and numbers from fields of the row; stime is the row's time in microseconds",
    )


def is_not_repeatable(name: str, without_arguments: bool) -> bool:
    return name in _NOT_REPEATABLE or (without_arguments and name in _CLOCK_WITHOUT_ARGUMENTS)


def looks_at_order(name: str) -> bool:
    """Whether an aggregate or a function over windows may give something else for the same rows in another order."""
    return name in _AGGREGATES | _WINDOWED and name not in _ORDER_FREE


def refused_function(name: str, without_arguments: bool) -> Problem | None:
    """What is wrong with calling the function, by its lower-case name; None where nothing is known against it."""
    if is_not_repeatable(name, without_arguments):
        return not_repeatable(f"{name}()")
    if name == "identifier":
        return Problem(
            "identifier() hides which field or function is meant",
            allowed="fields and functions by their names",
            next_step="write the name itself",
        )
    if name in _THROWING:
        return Problem(f"{name}() would stop the stream", allowed="expressions that do not throw", next_step="filter")
    if name in _WINDOWED:
        return Problem(
            f"{name}() looks at other rows",
            allowed="functions of one row",
            next_step="use an aggregate box, or a function of DataFrames with apply",
        )
    if name in _AGGREGATES:
        return Problem(
            f"{name}() is an aggregate of many rows",
            allowed="functions of one row",
            next_step="use an aggregate box; the larger of two values is greatest(a, b), the smaller least(a, b)",
        )
    if name in _ROWS_OF_ONE:
        return Problem(
            f"{name}() makes several rows of one",
            allowed="one value for each row",
            next_step="use a function of DataFrames with apply",
        )
    return None
