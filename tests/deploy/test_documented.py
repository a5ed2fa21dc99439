"""docs/operate.md tells the rights that the chart grants, and values that there are."""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

import pytest
import yaml

from agent.sandbox import Sandbox
from deploy import render
from tests.deploy.variants import VARIANTS, all_of

PAGE = (render.FOLDER.parent / "docs" / "operate.md").read_text()


def rows(head: str) -> list[list[str]]:
    """The cells of the table that begins with these words."""
    table = PAGE[PAGE.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.flow
async def test_the_table_of_rights_is_the_role_of_a_destination(sandbox: Sandbox) -> None:
    objects = await render.chart(sandbox, VARIANTS["namespaces"], render.NAMESPACE)
    role = all_of("Role", objects, "-destination")[0]
    granted = [
        [
            ", ".join(one["apiGroups"]) or "core",
            ", ".join(one["resources"]),
            ", ".join(one["verbs"]),
        ]
        for one in role["rules"]
    ]
    assert rows("| API group | Resources | Verbs |") == granted


def test_every_value_that_is_told_exists() -> None:
    values: dict[str, Any] = yaml.safe_load((render.FOLDER / "chart" / "values.yaml").read_text())
    told = [name for row in rows("| Value |") for name in re.findall(r"`([a-zA-Z.]+)`", row[0])]
    assert told
    for name in told:
        assert reduce(lambda found, part: found[part], name.split("."), values) is not None
