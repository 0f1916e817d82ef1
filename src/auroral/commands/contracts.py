"""`auroral contracts advise`: which contracts to seek, from recorded loads."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from auroral.commands.options import add_json
from auroral.commands.plots import can_draw, draw
from auroral.commands.terminal import FINE, WrongUse, columns, say, say_json
from auroral.model.errors import AuroralError
from auroral.sim.experiments.values import Plot, Series
from auroral.workload.advising import Advice, advise
from auroral.workload.contracts import Contract, agreed, contract
from auroral.workload.costs import Queue
from auroral.workload.distributions import Floats

NAME = "contracts"
SUMMARY = "say which contracts with other organisations are worth seeking, from recorded loads"
EXAMPLE = """\
  auroral contracts advise load.csv --capacity 0.8
  auroral contracts advise load.parquet --column cpu --capacity 0.8 --contract-cost 0.01 --contracts contracts.json --out advice"""

DRAWS = 100_000
MOST = 20
"""Contracts that are looked at."""
LEAST_ROWS = 10


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("advise",), help="advise: how many contracts to seek, at which prices, and what each brings"
    )
    parser.add_argument(
        "load_file",
        metavar="LOAD_FILE",
        type=Path,
        help="loads at times as far apart as each other: *.csv or *.parquet",
    )
    parser.add_argument(
        "--column",
        metavar="NAME",
        default="load",
        help="the column with the own load, from 0 for idle to 1 for all; load if left out",
    )
    parser.add_argument(
        "--capacity",
        metavar="LOAD",
        type=float,
        default=0.8,
        help="the load above which one is overloaded; 0.8 if left out",
    )
    parser.add_argument(
        "--partners",
        metavar="NAMES",
        type=lambda text: text.split(","),
        default=[],
        help="columns with loads of possible partners, as a,b; if left out, partners are thought to be loaded as oneself is, each at other times",
    )
    parser.add_argument(
        "--contract-cost",
        metavar="COST",
        type=float,
        default=0.0,
        help="what a contract costs in a second; nothing if left out",
    )
    parser.add_argument(
        "--contracts", metavar="FILE", type=Path, help="contracts that there are, as a JSON list; each is judged"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="write plots there, where matplotlib is installed")
    add_json(parser)


def run(args: Namespace) -> int:
    if not 0 < args.capacity < 1:
        raise WrongUse(f"--capacity is {args.capacity:g}\n    allowed: more than 0 and less than 1, as 0.8")
    if args.contract_cost < 0:
        raise WrongUse(f"--contract-cost is {args.contract_cost:g}\n    allowed: 0 or more")
    table = _read(args.load_file)
    loads = _column(table, args.column, args.load_file)
    draw_from = np.random.default_rng(0)
    own = draw_from.choice(loads, DRAWS)
    if args.partners:
        known = [_column(table, name, args.load_file) for name in args.partners]
        # At the same moments as the own: who is busy at the same time is of little help.
        moments = draw_from.integers(len(loads), size=DRAWS)
        own, partners = loads[moments], np.stack([one[moments] for one in known], axis=1)
    else:
        partners = draw_from.choice(loads, (DRAWS, MOST))
    existing = [] if args.contracts is None else _contracts(args.contracts)
    found = advise(own, partners, args.capacity, Queue(), args.contract_cost, existing)
    written = _plots(found, args.out) if args.out else []
    if args.json:
        say_json({**_as_json(found), "rows": len(loads), "written": [str(path) for path in written]})
    else:
        _say(found, len(loads), args)
    return FINE


def _read(file: Path) -> pa.Table:
    try:
        if file.suffix == ".csv":
            return pa.csv.read_csv(file)
        if file.suffix == ".parquet":
            return pa.parquet.read_table(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise AuroralError(f"{file} cannot be read: {error}\n    next: check the file") from error
    raise WrongUse(f"{file} ends in {file.suffix or 'nothing'}\n    allowed: .csv, .parquet")


def _column(table: pa.Table, name: str, file: Path) -> Floats:
    if name not in table.column_names:
        raise AuroralError(
            f"{file} has no column {name}\n    allowed: {', '.join(table.column_names)}\n    next: --column NAME"
        )
    column = table.column(name)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise AuroralError(
            f"column {name} of {file} has {column.type}\n    allowed: numbers, from 0 for idle to 1 for all"
        )
    if column.null_count:
        raise AuroralError(
            f"column {name} of {file} is empty in {column.null_count} rows\n    next: leave these rows out"
        )
    found = np.asarray(column.to_numpy(), dtype=np.float64)
    if len(found) < LEAST_ROWS:
        raise AuroralError(
            f"{file} has {len(found)} rows\n    allowed: {LEAST_ROWS} or more; the more, the better the advice"
        )
    if not np.isfinite(found).all() or found.min() < 0:
        raise AuroralError(
            f"column {name} of {file} has {found.min():g} in it\n    allowed: 0 for idle, 1 for all, more for what waits"
        )
    return found


def _contracts(file: Path) -> list[Contract]:
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AuroralError(f"{file} cannot be read: {error}\n    allowed: a JSON list of contracts") from error
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise AuroralError(
            f'{file} is no list of contracts\n    allowed: [{{"buyer": ..., "seller": ..., "high": ...}}, ...]'
        )
    return list(agreed(map(contract, given)).values())


def _as_json(found: Advice) -> dict[str, Any]:
    existing = [{**one.contract.to_settings(), "level": one.level, "advice": one.advice} for one in found.existing]
    said = {name: value for name, value in asdict(replace(found, existing=())).items() if name != "existing"}
    return {**said, "existing": existing}


def _say(found: Advice, rows: int, args: Namespace) -> None:
    say(
        f"{rows} rows; the load is above {found.capacity:g} in {found.spike_probability:.1%} of the time, then by {found.expected_spike:.3f} on "
        f"average; its median is {found.median:.3f}"
    )
    shown = [one for one in found.brings if one.contracts <= max(found.seek + 3, 6)]
    head = ("contracts", "overloaded, if so", "above by", "taken by others", "worth", "net")
    cells = [
        (
            str(one.contracts),
            f"{one.overload.probability:.1%}",
            f"{one.overload.expected * found.capacity:.3f}",
            f"{one.avoided:.5f}",
            f"{one.worth:.4f}",
            f"{one.net:.4f}",
        )
        for one in shown
    ]
    say(columns([head, *cells], indent=2))
    if found.spike_probability:
        say(
            f"seek {found.seek} contracts as the buyer, at a price just below {found.price:.2f} for a unit of load and a second"
        )
    else:
        say("no contract is needed against overload: the load was never above the capacity")
    best = found.best_level
    say(
        f"to lower ordinary costs: the price of a load of {best.level:.2f}, {best.price:.2f}; it moves {best.bought:.3f} away on average, and lets one "
        f"take {best.sold:.3f} as the seller"
    )
    say(
        "as the seller: as many contracts as can be had at the price of the capacity, and a few at that of the median load"
    )
    for one in found.existing:
        say(
            f"{one.contract.buyer} pays {one.contract.seller} up to {float(one.contract.high):g} (a load of {one.level:.2f}): {one.advice}"
        )
    if args.contract_cost == 0:
        say("note: contracts cost nothing here; with --contract-cost the number is where another one is not worth it")


def _plots(found: Advice, folder: Path) -> list[Path]:
    if not can_draw():
        say("no plots: matplotlib is not installed; next: pip install 'auroral[plots]'")
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUse(
            f"--out {folder}: no folder can be made there: {error.strerror}; next: name another one"
        ) from error
    counts = [float(one.contracts) for one in found.brings]
    net = Series("net worth", tuple(zip(counts, [one.net for one in found.brings], strict=True)))
    worth = Series("worth", tuple(zip(counts, [one.worth for one in found.brings], strict=True)))
    at = [one.level for one in found.levels]
    away = Series("moved away", tuple(zip(at, [one.bought for one in found.levels], strict=True)))
    taken = Series("taken", tuple(zip(at, [one.sold for one in found.levels], strict=True)))
    plots = {
        "contracts.svg": Plot("What contracts bring", "contracts", "for each second", (worth, net)),
        "prices.svg": Plot("What moves by price", "load level of the price", "load", (away, taken)),
    }
    for name, plot in plots.items():
        draw(plot, folder / name)
    return [folder / name for name in plots]
