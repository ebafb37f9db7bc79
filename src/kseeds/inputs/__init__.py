"""Validation: what users pass is checked here and becomes a `Problem`, the input of all methods."""

from kseeds.inputs.arguments import (
    check_algorithm,
    check_choice,
    check_count,
    check_metric,
    check_positive,
    check_radii,
    check_random_state,
    check_threads,
)
from kseeds.inputs.generator_state import restored_on_error
from kseeds.inputs.keywords import check_options, with_hints
from kseeds.inputs.points import Prepared, prepare_like, prepare_points, prepare_together
from kseeds.inputs.problem import Problem, prepare_problem
from kseeds.inputs.weights import Weights, check_weights

__all__ = [
    "Prepared",
    "Problem",
    "Weights",
    "check_algorithm",
    "check_choice",
    "check_count",
    "check_metric",
    "check_options",
    "check_positive",
    "check_radii",
    "check_random_state",
    "check_threads",
    "check_weights",
    "prepare_like",
    "prepare_points",
    "prepare_problem",
    "prepare_together",
    "restored_on_error",
    "with_hints",
]
