"""What the tests of the scikit-learn face share."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from kseeds.sklearn import fitting, replacement


def blobs(n: int = 240, d: int = 3, dtype=np.float64) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, d)) + 8 * rng.integers(0, 3, size=(n, 1))).astype(dtype)


@pytest.fixture
def draws(monkeypatch) -> list[tuple]:
    """The arguments of every draw of seeds by kseeds; patch after asking for it."""
    calls: list[tuple] = []
    real = replacement.draw

    def draw(*arguments):
        calls.append(arguments)
        return real(*arguments)

    for module in (replacement, fitting):
        monkeypatch.setattr(module, "draw", draw)
    return calls


@pytest.fixture
def said(monkeypatch, caplog):
    """The log of kseeds, as if nothing had been said before."""
    monkeypatch.setattr(replacement, "_SAID", set())
    caplog.set_level(logging.INFO, logger="kseeds")
    return lambda: [record.getMessage() for record in caplog.records]
