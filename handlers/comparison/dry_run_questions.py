"""A comparison of values, and the questions to the server that they leave open. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bus.identity import ResourceKey, digest_of
from handlers.application.ignore_rules import ObjectRules
from handlers.comparison.comparison import Answers, ComparisonInput, DryRunQuestion
from handlers.comparison.drift_summary import DriftSummary, compare, resolve
from handlers.comparison.object_difference import DiffVerdict
from handlers.comparison.resource_state import KnownStates, PairOptions, ResourceState
from handlers.comparison.taken_fields import all_taken
from handlers.manifest.access import Manifest
from handlers.ports import LiveObject


def compared(
    inputs: ComparisonInput, answers: Answers, known: KnownStates | None = None
) -> DriftSummary:
    """Compare locally, with the answers that the server has given before.

    `known` is what the comparison before found.
    """
    summary = compare(
        inputs.desired,
        inputs.lives,
        inputs.identity,
        options=PairOptions(inputs.takes_over, inputs.known_types),
        ignored=inputs.ignored,
        known=known,
    )
    answered = {
        key: answers[question]
        for key, question in questions(summary, inputs).items()
        if question in answers
    }
    return resolve(summary, answered) if answered else summary


def questions(
    summary: DriftSummary, inputs: ComparisonInput, *, deployed: bool = True
) -> Mapping[ResourceKey, DryRunQuestion]:
    """Select what to ask the server, by object.

    `deployed`: the last sync applied this revision. Then a difference may be the server's doing
    (a default, a conversion) and is asked about. Before that a difference is believed without a
    question: the next sync applies the object in any case. So is what is known to be somebody's
    doing. An uncertain object is always asked.
    """
    doubtful = frozenset(summary.doubtful)
    if not doubtful:
        return {}
    asked = {
        state.key
        for state in summary.resources
        if state.key in doubtful and _is_asked(state, inputs, deployed=deployed)
    }
    desired = inputs.desired.objects
    return {
        key: _question(desired[key], inputs.lives[key], inputs.rules.get(key))
        for key in asked
        if key in desired and inputs.lives[key].body
    }


def _is_asked(state: ResourceState, inputs: ComparisonInput, *, deployed: bool) -> bool:
    if not deployed or state.doubts or state.key in inputs.rules:
        return deployed or state.verdict is DiffVerdict.UNCERTAIN
    desired, live = inputs.desired.objects[state.key], inputs.lives[state.key]
    return not all_taken(state.differences, desired, live)


def _question(desired: Manifest, live: LiveObject, rules: ObjectRules | None) -> DryRunQuestion:
    content = msgspec.json.encode(desired, order="deterministic")
    return DryRunQuestion(digest_of(content), live.uid, live.resource_version, rules)
