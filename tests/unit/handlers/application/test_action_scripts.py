"""The actions of `argocd-cm`, as data: of which kind, by which place, and what is wrong."""

from __future__ import annotations

import pytest

from handlers.application.action_scripts import ACTIONS, read_action_scripts
from handlers.application.health_scripts import CUSTOMIZATIONS

RESTART = """
discovery.lua: return {restart = {}}
definitions:
- {name: restart, action.lua: return obj}
"""
OF_THE_MAP = "apps/Deployment: {actions: {definitions: [{name: map, action.lua: return obj}]}}"
AS_TEXT = """
apps/Deployment:
  actions: |
    mergeBuiltinActions: true
    definitions: [{name: text, action.lua: return obj}]
"""


def test_a_key_of_its_own_goes_before_the_map() -> None:
    found = read_action_scripts({CUSTOMIZATIONS: OF_THE_MAP, f"{ACTIONS}apps_Deployment": RESTART})
    actions = found.of("apps", "Deployment")

    assert actions is not None
    assert (actions.script("restart"), actions.script("map")) == ("return obj", None)
    assert actions.discovery == "return {restart = {}}"
    assert not actions.merges_built_in
    assert actions.source == f"{ACTIONS}apps_Deployment"


@pytest.mark.parametrize(("written", "name"), [(OF_THE_MAP, "map"), (AS_TEXT, "text")])
def test_the_map_has_them_as_fields_or_as_text(written: str, name: str) -> None:
    actions = read_action_scripts({CUSTOMIZATIONS: written}).of("apps", "Deployment")

    assert actions is not None
    assert actions.script(name) == "return obj"
    assert actions.merges_built_in is (name == "text")


def test_a_kind_of_the_core_group_has_no_group() -> None:
    found = read_action_scripts({f"{ACTIONS}Pod": RESTART})

    assert found.of("", "Pod") is not None
    assert found.of("apps", "Pod") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (f"{ACTIONS}apps_Deployment", "definitions: [{name: a}]"),
        (f"{ACTIONS}apps_Deployment", "definitions: ["),
        (f"{ACTIONS}a_b_Deployment", RESTART),
        (f"{ACTIONS}*_Deployment", RESTART),
        (f"{ACTIONS}apps_Deployment", f"discovery.lua: {'x' * 70_000}"),
        (CUSTOMIZATIONS, "apps/Deployment: {actions: [1]}"),
    ],
    ids=["no script", "no YAML", "two groups", "a wildcard", "too long", "no mapping"],
)
def test_what_cannot_be_read_is_named_and_offers_nothing(key: str, value: str) -> None:
    found = read_action_scripts({key: value})

    assert not found.kinds
    ((place, _),) = found.unreadable
    assert place.startswith(key)
