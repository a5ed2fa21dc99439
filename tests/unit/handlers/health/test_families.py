"""Each kind with a rule has the health that the tables in `families/` write down."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from handlers.health.assess import assess
from handlers.health.conditions import pattern
from handlers.health.families import HEALTH_TABLE
from handlers.health.rule import HEALTHY, Rule
from handlers.health.table import HealthTable
from tests.unit.handlers.health.health_cases import TABLES, HealthCase, all_cases, cases_of

CASES = tuple(all_cases())
MANY = 240


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_the_kinds_of_a_family_are_judged_as_its_table_says(table: Any) -> None:
    wrong = [
        f"{case.name}: {found}, expected {case.expected}"
        for case in cases_of(table)
        if (found := judged(case)) != case.expected
    ]

    assert wrong == []


def judged(case: HealthCase) -> str | None:
    health = assess(case.manifest)
    return health.status.value if health else None


def test_every_row_has_a_case_for_each_of_at_least_two_healths() -> None:
    outcomes = defaultdict(set)
    for case in CASES:
        outcomes[case.row].add(case.expected)
    rows = {f"{group}/{kind}" for group, kind in HEALTH_TABLE.kinds()}
    single = {"astra.netapp.io/Schedule", "microgateway.airlock.com/*"}

    assert {row for row in rows if len(outcomes[row]) < 2} <= single
    assert rows - outcomes.keys() == set()
    assert len(rows) >= MANY


@pytest.mark.parametrize(
    "status",
    [
        None,
        [],
        "x",
        7,
        {"conditions": "x", "phase": [], "observedGeneration": {}},
        {"conditions": [None, [], {"type": [], "status": {}, "reason": [], "message": 3}]},
        {"statuses": {"a": None}, "ancestors": [7], "parents": [{"conditions": 3}], "racks": []},
        {"environments": [None], "ingress": {"a": 1}, "brokersState": {"a": []}, "scale": []},
        {"observedGeneration": 2, "state": {"a": 1}, "aggregatedStatus": "x", "solrNodes": [[]]},
    ],
    ids=repr,
)
def test_a_malformed_status_is_judged_without_an_error(status: object) -> None:
    metadata = {"name": "x", "generation": 2, "labels": [], "annotations": "x"}
    odd = {"clusters": 3, "updateStrategy": [], "dynamicAllocation": 1, "nodeSets": [None]}
    specs: tuple[Any, ...] = ({}, None, [], odd)
    for api_version, kind in {(one.manifest["apiVersion"], one.manifest["kind"]) for one in CASES}:
        for spec in specs:
            manifest = {"apiVersion": api_version, "kind": kind, "spec": spec, "status": status}
            assess(manifest | {"metadata": metadata})


def test_the_message_is_that_of_the_condition_which_decides() -> None:
    condition = {"type": "Ready", "status": "False", "reason": "Denied", "message": "no access"}
    manifest = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "SecretStore",
        "metadata": {"name": "x"},
        "status": {"conditions": [condition]},
    }
    health = assess(manifest)

    assert health is not None
    assert health.message == "no access"


def test_an_exact_row_goes_before_that_of_a_group() -> None:
    exact, wide = Rule(otherwise=HEALTHY), Rule()
    table = HealthTable([{"*.example.com": {"*": wide}, "a.example.com": {"Exact": exact}}])

    assert table.rule_of("a.example.com", "Exact") is exact
    assert table.rule_of("a.example.com", "Other") is wide
    assert table.rule_of("a.b.example.com", "Other") is wide
    assert table.rule_of("example.com", "Other") is None
    assert table.rule_of("myexample.com", "Other") is None


def test_a_kind_with_two_rules_is_refused() -> None:
    twice = [{"a.io": {"Kind": Rule()}}, {"a.io": {"Other Kind": Rule()}}]

    with pytest.raises(ValueError, match=r"a\.io/Kind has two rules"):
        HealthTable(twice)


def test_a_pattern_without_a_status_is_refused() -> None:
    with pytest.raises(ValueError, match="expected Type=Status"):
        pattern("Ready")
