"""docs/operate.md tells the rights that the chart grants, and values that there are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

import yaml

from deploy import render
from sandbox.client import Sandbox
from tests.unit.deploy.chart_values import VARIANTS, all_of

PAGE = (render.FOLDER.parent / "docs" / "operate.md").read_text()


def rows(head: str) -> list[list[str]]:
    """The cells of the table that begins with these words."""
    table = PAGE[PAGE.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


async def test_the_table_of_rights_is_the_role_of_a_destination(sandbox: Sandbox) -> None:
    objects = await render.chart(sandbox, VARIANTS["namespaces"], render.NAMESPACE)
    role = all_of("Role", objects, "-destination")[0]
    granted = [[*names(one), ", ".join(one["verbs"])] for one in role["rules"]]
    assert rows("| API group | Resources | Verbs |") == granted


async def test_the_table_of_the_profile_cluster_is_what_it_adds(sandbox: Sandbox) -> None:
    namespaced, cluster = [
        [names(rule) for rule in (await written(sandbox, variant))]
        for variant in ("defaults", "cluster")
    ]
    added = [one for one in cluster if one not in namespaced]
    assert rows("| API group of profile cluster |") == added


async def written(sandbox: Sandbox, variant: str) -> list[dict[str, Any]]:
    objects = await render.chart(sandbox, VARIANTS[variant], render.NAMESPACE)
    (role,) = all_of("ClusterRole", objects)
    return [rule for rule in role["rules"] if "delete" in rule["verbs"]]


def names(rule: Mapping[str, Any]) -> list[str]:
    return [", ".join(rule["apiGroups"]) or "core", ", ".join(rule["resources"])]


def test_every_value_that_is_told_exists() -> None:
    values: dict[str, Any] = yaml.safe_load((render.FOLDER / "chart" / "values.yaml").read_text())
    documented = [
        name for row in rows("| Value |") for name in re.findall(r"`([a-zA-Z.]+)`", row[0])
    ]
    assert documented
    for name in documented:
        assert reduce(lambda found, part: found[part], name.split("."), values) is not None
