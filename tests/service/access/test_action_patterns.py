"""Which resource actions a role allows, and which patterns may be given away."""

from __future__ import annotations

import re

import pytest

from service.access.action_patterns import (
    EVERY_ACTION,
    PATTERN,
    action_name,
    exceeding_actions,
    may_act,
)
from service.access.decision import BindingScope, GrantedRole, ResourceScope, holds, limited
from service.access.permissions import Permission

SHOP = ResourceScope(projects=frozenset({"shop"}))
RESTART = action_name("apps", "Deployment", "restart")


def role(*actions: str, project: str = "", every: bool = False) -> GrantedRole:
    permissions = frozenset({EVERY_ACTION}) if every else frozenset[Permission]()
    scope = BindingScope(project=project)
    return GrantedRole(id="r", permissions=permissions, scope=scope, actions=frozenset(actions))


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        ("action/apps/Deployment/restart", True),
        ("action/apps/Deployment/*", True),
        ("action/*/*/restart", True),
        ("action/*/*/*", True),
        ("action/a*s/*ment/re*t", True),
        ("action/apps/Deployment/scale", False),
        ("action/apps/StatefulSet/*", False),
        ("action//Deployment/restart", False),
        ("action/*/restart", False),
    ],
)
def test_a_pattern_matches_part_by_part(pattern: str, *, allowed: bool) -> None:
    assert may_act([role(pattern)], RESTART, SHOP) is allowed


def test_the_permission_allows_every_action_where_it_is_held() -> None:
    assert may_act([role(every=True)], RESTART, SHOP)
    assert may_act([role(every=True, project="shop")], RESTART, SHOP)
    assert not may_act([role(every=True, project="bank")], RESTART, SHOP)
    assert not may_act([role("action/*/*/*", project="bank")], RESTART, SHOP)


@pytest.mark.parametrize(
    ("own", "granted", "exceeds"),
    [
        (role("action/apps/*/*"), "action/apps/Deployment/*", False),
        (role("action/apps/*/*"), "action/apps/*/*", False),
        (role("action/apps/Deployment/*"), "action/apps/*/*", True),
        (role("action/*/*/restart"), "action/*/*/re*", True),
        (role(every=True), "action/*/*/*", False),
        (role(every=True, project="shop"), "action/*/*/*", True),
        (role(), "action/*/*/*", True),
    ],
)
def test_nobody_gives_away_what_they_do_not_hold(
    own: GrantedRole, granted: str, *, exceeds: bool
) -> None:
    assert bool(exceeding_actions([own], [granted], BindingScope())) is exceeds


def test_a_token_without_the_permission_for_actions_runs_none() -> None:
    own = [role("action/*/*/*")]

    assert not may_act(limited(own, frozenset({Permission.APPLICATION_VIEW})), RESTART, SHOP)
    assert may_act(limited(own, frozenset({EVERY_ACTION})), RESTART, SHOP)
    assert may_act(limited(own, frozenset()), RESTART, SHOP)


def test_one_action_is_enough_to_ask() -> None:
    assert holds([role(RESTART)], EVERY_ACTION)
    assert not holds([role(RESTART)], Permission.OBJECT_EDIT)
    assert not holds([role()], EVERY_ACTION)


@pytest.mark.parametrize(
    "written", ["apps/Deployment/restart", "action/a/b", "action/a/[B]/c", "action/a/b?/c", "*"]
)
def test_other_texts_are_no_patterns(written: str) -> None:
    assert re.match(PATTERN, written) is None
