"""A forbidden write is explained by the profile of rights that the agent was installed with."""

from __future__ import annotations

import pytest

from agent.kube.errors import ConflictError, ForbiddenError
from agent.kube.rights import InstalledRights

_USER = 'User "system:serviceaccount:argocd:gitops-agent"'
ROLES = (
    f'roles.rbac.authorization.k8s.io "a" is forbidden: {_USER} cannot patch resource "roles" in'
    ' API group "rbac.authorization.k8s.io" in the namespace "shop"'
)
VOLUMES = (
    f'persistentvolumes "a" is forbidden: {_USER} cannot delete resource "persistentvolumes" in'
    ' API group "" at the cluster scope'
)
ESCALATION = (
    f'roles "a" is forbidden: {_USER} is attempting to grant RBAC permissions not currently held'
)


def explained(rights: InstalledRights, message: str) -> str:
    return rights.explained(ForbiddenError(message, code=403)).message


@pytest.mark.parametrize(
    ("rights", "message", "remedy"),
    [
        (InstalledRights("namespaced"), ROLES, "rights.roles: true"),
        (InstalledRights("namespaced", ("shop",)), VOLUMES, "destinations.scope: cluster"),
        (InstalledRights("namespaced", ("blog",)), ROLES, "'shop' in destinations.namespaces"),
        (InstalledRights("kinds"), VOLUMES, "resources: [persistentvolumes]} in rights.kinds"),
        (InstalledRights("read-only"), ROLES, "destinations.write: true"),
        (InstalledRights("cluster"), ESCALATION, "only rights that it holds itself"),
    ],
)
def test_a_forbidden_write_names_the_profile_and_what_would_grant_it(
    rights: InstalledRights, message: str, remedy: str
) -> None:
    explanation = explained(rights, message)
    assert f"profile {rights.profile!r}" in explanation
    assert remedy in explanation
    assert explanation.endswith(message)


def test_the_right_is_named_with_its_place() -> None:
    rights = InstalledRights("kinds")
    assert "patch roles.rbac.authorization.k8s.io in namespace 'shop'" in explained(rights, ROLES)
    assert "delete persistentvolumes in the cluster" in explained(rights, VOLUMES)


def test_other_refusals_and_installations_without_a_profile_keep_the_server_s_words() -> None:
    conflict = ConflictError("conflict", code=409)
    assert InstalledRights("cluster").explained(conflict) is conflict
    assert explained(InstalledRights(), ROLES) == ROLES
    assert explained(InstalledRights("cluster"), "exceeded quota") == "exceeded quota"
