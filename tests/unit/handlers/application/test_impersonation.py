"""As which ServiceAccount an Application's objects are written, and when nothing is written."""

from __future__ import annotations

from typing import Any

import pytest

from bus.status import ConditionType
from handlers.application.argo_settings import read_settings
from handlers.application.destination import IN_CLUSTER, DestinationCluster, RegisteredCluster
from handlers.application.impersonation import (
    THE_AGENT,
    ActingUser,
    acting_user,
    unused_accounts,
)
from handlers.application.impersonation_settings import (
    ENABLED,
    ENFORCED,
    OFF,
    ImpersonationSettings,
)
from handlers.application.validate import problems
from tests.unit.handlers.application.builders import application, project

ON = ImpersonationSettings(enabled=True)
ENFORCING = ImpersonationSettings(enabled=True, enforced=True)
SERVER = "https://kubernetes.default.svc"
STAGING = DestinationCluster(server="https://staging.example:6443", name="staging")


def rule(server: str = "*", namespace: str = "*", account: str = "deployer") -> dict[str, Any]:
    return {"server": server, "namespace": namespace, "defaultServiceAccount": account}


def user(
    *rules: dict[str, Any],
    settings: ImpersonationSettings = ON,
    cluster: DestinationCluster = IN_CLUSTER,
    namespace: str = "shop",
) -> ActingUser:
    app = application({"destination": {"server": SERVER, "namespace": namespace}})
    return acting_user(app, project({"destinationServiceAccounts": list(rules)}), cluster, settings)


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ([rule()], "shop:deployer"),
        ([rule(account="ci:deployer")], "ci:deployer"),
        ([rule(SERVER, "sh*", "first"), rule(account="second")], "shop:first"),
        ([rule(SERVER, "other"), rule(account="second")], "shop:second"),
        ([rule("https://*.example:6443"), rule(account="second")], "shop:second"),
        ([rule("https://KUBERNETES.default.svc:443/")], "shop:deployer"),
    ],
    ids=["by name", "of its namespace", "first", "namespace", "server", "spelling"],
)
def test_the_first_entry_that_matches_names_the_account(
    rules: list[dict[str, Any]], name: str
) -> None:
    assert user(*rules) == ActingUser(name=f"system:serviceaccount:{name}")


def test_an_application_without_a_namespace_has_the_account_of_its_own() -> None:
    assert user(rule(), namespace="").name == "system:serviceaccount:argocd:deployer"


def test_the_server_of_a_destination_by_name_counts() -> None:
    assert user(rule("https://*.example:6443"), cluster=STAGING).name.endswith(":deployer")


def test_the_agent_acts_itself_where_nothing_says_otherwise() -> None:
    assert user(rule(), settings=OFF) == THE_AGENT
    assert user(rule(SERVER, "other")) == THE_AGENT
    assert user() == THE_AGENT


@pytest.mark.parametrize("rules", [(), (rule(SERVER, "other"),)], ids=["none", "for another"])
def test_nothing_is_written_without_an_account_where_one_is_enforced(
    rules: tuple[dict[str, Any], ...],
) -> None:
    found = user(*rules, settings=ENFORCING)
    assert found.name == ""
    assert "spec.destinationServiceAccounts" in found.problem


@pytest.mark.parametrize(
    "wrong",
    [
        rule("!https://a"),
        rule(namespace="!prod"),
        rule(server=""),
        {"server": "*", "defaultServiceAccount": "deployer"},
        {"server": "*", "namespace": "*"},
        rule(account="a:b:c"),
        rule(account="de*"),
        rule(account="../admin"),
        rule(account="admin\r\nImpersonate-Group: system:masters"),
        {"server": 1, "namespace": "*", "defaultServiceAccount": "deployer"},
    ],
    ids=str,
)
def test_an_entry_that_cannot_be_understood_stops_the_whole_project(wrong: dict[str, Any]) -> None:
    found = user(rule(), wrong)
    assert found.name == ""
    assert "spec.destinationServiceAccounts[1]" in found.problem


def test_a_project_that_is_not_there_writes_nothing() -> None:
    assert acting_user(application(), None, IN_CLUSTER, ON).problem


@pytest.mark.parametrize("settings", [ON, ENFORCING], ids=["on", "enforced"])
@pytest.mark.parametrize("space", ["", "nowhere", "kube-system"])
def test_an_application_leaves_its_account_by_no_other_destination(
    space: str, settings: ImpersonationSettings
) -> None:
    """Its objects name their own namespaces, so those of the tenant's would still be written."""
    tenants = project(
        {
            "destinations": [{"server": SERVER, "namespace": "team-a"}],
            "destinationServiceAccounts": [rule(SERVER, "team-a")],
        }
    )

    def found(namespace: str) -> ActingUser:
        app = application({"destination": {"server": SERVER, "namespace": namespace}})
        return acting_user(app, tenants, IN_CLUSTER, settings)

    assert found("team-a").name == "system:serviceaccount:team-a:deployer"
    assert found(space).name == ""
    assert "spec.destination" in found(space).problem


def test_the_project_counts_for_the_cluster_that_the_destination_has_become() -> None:
    there = project(
        {
            "destinations": [{"name": "staging", "namespace": "shop"}],
            "destinationServiceAccounts": [rule()],
        }
    )
    assert (
        acting_user(application(), there, STAGING, ON).name == "system:serviceaccount:shop:deployer"
    )
    assert acting_user(application(), there, IN_CLUSTER, ON).problem


def test_an_application_without_its_account_is_invalid() -> None:
    registered = RegisteredCluster(cluster=IN_CLUSTER)
    (found,) = problems(application(), project({}), registered, ENFORCING)
    assert found.type == ConditionType.INVALID_SPEC_ERROR
    assert problems(application(), project({}), registered, ON) == ()


def test_accounts_without_an_effect_are_told() -> None:
    with_accounts = project({"destinationServiceAccounts": [rule()]})
    (found,) = unused_accounts(with_accounts, OFF)
    assert ENABLED in found.message
    assert not found.harmful
    assert not list(unused_accounts(with_accounts, ON))
    assert not list(unused_accounts(project({}), OFF))


def test_the_settings_are_read() -> None:
    settings = read_settings({ENABLED: "true", ENFORCED: "True"})
    assert settings.impersonation == ENFORCING
    assert settings.unsupported == ()


@pytest.mark.parametrize("data", [{ENFORCED: "true"}, {ENABLED: "yes"}, {ENFORCED: "1"}], ids=str)
def test_settings_that_leave_it_open_hold_automated_syncs(data: dict[str, str]) -> None:
    assert read_settings(data).harmful
