"""Aggregates of users go with a diagram to processes that have not registered them, as its functions do."""

from __future__ import annotations

import pickle

import cloudpickle
import pytest

import auroral
from auroral.dpc.fragments import cut
from auroral.dpc.splicing import spliced
from auroral.model import aggregates
from auroral.model.checking import Checked
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row

S = 1_000_000
ROWS = [Row(t * S, (t,), (t,)) for t in range(4)]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Checked:
    """A diagram as another process loads it."""
    monkeypatch.setattr(aggregates, "_registered", {})
    auroral.aggregate_function(
        "product", init=lambda: 1, incr=lambda state, n: state * (n + 1), final=lambda state: state, returns="long"
    )
    d = auroral.diagram("d", bucket="1s")
    d.input("a", "n int").running("products", {"product": "product(n)"}).output()
    stored = cloudpickle.dumps(d.check())
    monkeypatch.setattr(aggregates, "_registered", {})
    loaded: Checked = pickle.loads(stored)
    return loaded


def products(checked: Checked) -> list[object]:
    return [row.values[0] for row in evaluate(checked, {"a": ROWS}, 4 * S).streams["products"]]


def test_a_fragment_has_those_that_its_boxes_call(elsewhere: Checked) -> None:
    (fragment,) = cut(elsewhere).all
    assert products(fragment.checked) == [1, 2, 6, 24]


def test_so_have_versions_one_after_the_other(elsewhere: Checked) -> None:
    assert products(spliced(elsewhere, cut(elsewhere), {})) == [1, 2, 6, 24]
