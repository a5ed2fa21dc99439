from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.access.decision import (
    ACCOUNT,
    BindingScope,
    GrantedRole,
    ResourceScope,
    decide,
    exceeds,
    holds,
    limited,
    reaches,
    visible_scopes,
)
from service.access.permissions import ALL, BUILT_IN_ROLES, Permission

VIEW = Permission.APPLICATION_VIEW
SYNC = Permission.APPLICATION_SYNC
SHOP = ResourceScope(
    organisations=frozenset({"org1"}), projects=frozenset({"shop"}), labels={"team": "blue"}
)


def binding(*permissions: Permission, **scope: object) -> GrantedRole:
    return GrantedRole(id="b", permissions=frozenset(permissions), scope=BindingScope(**scope))  # type: ignore[arg-type]


def test_nobody_may_anything_by_default() -> None:
    assert not decide((), VIEW, SHOP).allowed


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ({}, True),
        ({"organisation": "org1"}, True),
        ({"organisation": "org2"}, False),
        ({"project": "shop"}, True),
        ({"project": "bank"}, False),
        ({"organisation": "org2", "project": "shop"}, False),
        ({"labels": {"team": "blue"}}, True),
        ({"labels": {"team": "red"}}, False),
        ({"labels": {"team": "blue", "tier": "1"}}, False),
        ({"project": "shop", "labels": {"team": "blue"}}, True),
        ({"project": "bank", "labels": {"team": "blue"}}, False),
    ],
)
def test_a_binding_reaches_its_scope_only(scope: dict[str, object], *, allowed: bool) -> None:
    assert decide([binding(VIEW, **scope)], VIEW, SHOP).allowed is allowed


def test_the_decision_names_its_binding() -> None:
    assert decide([binding(VIEW)], VIEW, SHOP).by == "b"


def test_another_permission_does_not_allow() -> None:
    assert not decide([binding(VIEW)], SYNC, SHOP).allowed


def test_a_binding_to_a_project_does_not_reach_the_account() -> None:
    assert not decide([binding(VIEW, project="shop")], VIEW, ACCOUNT).allowed


def test_a_group_of_applications_holds_no_agents() -> None:
    agent = ResourceScope(organisations=frozenset({"org1"}), projects=frozenset({"shop"}))
    assert not decide([binding(VIEW, labels={})], VIEW, agent).allowed


def test_a_binding_to_the_account_makes_all_others_needless_for_visibility() -> None:
    assert visible_scopes([binding(VIEW, project="shop"), binding(VIEW)], VIEW) == (BindingScope(),)


def test_visibility_is_empty_without_the_permission() -> None:
    assert visible_scopes([binding(SYNC)], VIEW) == ()
    assert not holds([binding(SYNC)], VIEW)


def test_a_token_never_has_more_than_its_principal() -> None:
    (only,) = limited([binding(VIEW)], frozenset({VIEW, SYNC}))
    assert only.permissions == {VIEW}


def test_one_cannot_give_away_what_one_does_not_hold_there() -> None:
    mine = [binding(VIEW, SYNC, project="shop")]
    assert exceeds(mine, {VIEW}, BindingScope(project="shop")) == set()
    assert exceeds(mine, {VIEW}, BindingScope()) == {VIEW}
    assert exceeds(mine, {VIEW}, BindingScope(project="bank")) == {VIEW}
    assert exceeds(mine, {Permission.ACCESS_EDIT}, BindingScope(project="shop")) == {"access_edit"}


def test_each_built_in_role_holds_the_one_before() -> None:
    roles = [BUILT_IN_ROLES[name] for name in ("viewer", "deployer", "editor", "administrator")]
    assert all(less < more for less, more in pairwise(roles))
    assert roles[-1] == ALL
    assert not any(it.endswith(("_edit", "_delete")) for it in BUILT_IN_ROLES["deployer"])


NAMES = st.sampled_from(["a", "b", "c"])
SCOPES = st.builds(
    BindingScope,
    organisation=st.sampled_from(["", "a", "b"]),
    project=st.sampled_from(["", "a", "b"]),
    labels=st.none() | st.dictionaries(NAMES, NAMES, max_size=2),
)
PLACES = st.builds(
    ResourceScope,
    organisations=st.frozensets(NAMES, max_size=2),
    projects=st.frozensets(NAMES, max_size=2),
    labels=st.none() | st.dictionaries(NAMES, NAMES, max_size=3),
)


@given(SCOPES, SCOPES, PLACES)
def test_a_scope_that_may_be_given_reaches_only_what_the_giver_reaches(
    mine: BindingScope, granted: BindingScope, place: ResourceScope
) -> None:
    own = [GrantedRole(id="b", permissions=frozenset({VIEW}), scope=mine)]
    if not exceeds(own, {VIEW}, granted) and reaches(granted, place):
        assert decide(own, VIEW, place).allowed
