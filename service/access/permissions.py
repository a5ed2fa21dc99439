"""Permissions by name, and the built-in roles that every account starts with.

The names are those that users of GitOps control planes know. A role is a set of permissions; a
built-in role cannot be changed, a custom one can.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from bus.link import ObjectKind, object_kind


class Permission(StrEnum):
    AGENT_VIEW = "gitops_agent_view"
    AGENT_EDIT = "gitops_agent_edit"
    AGENT_DELETE = "gitops_agent_delete"
    CLUSTER_VIEW = "gitops_cluster_view"
    CLUSTER_EDIT = "gitops_cluster_edit"
    CLUSTER_DELETE = "gitops_cluster_delete"
    REPOSITORY_VIEW = "gitops_repository_view"
    REPOSITORY_EDIT = "gitops_repository_edit"
    REPOSITORY_DELETE = "gitops_repository_delete"
    GPGKEY_VIEW = "gitops_gpgkey_view"
    GPGKEY_EDIT = "gitops_gpgkey_edit"
    GPGKEY_DELETE = "gitops_gpgkey_delete"
    CERT_VIEW = "gitops_cert_view"
    CERT_EDIT = "gitops_cert_edit"
    CERT_DELETE = "gitops_cert_delete"
    APPLICATION_VIEW = "gitops_application_view"
    APPLICATION_EDIT = "gitops_application_edit"
    APPLICATION_DELETE = "gitops_application_delete"
    APPLICATION_SYNC = "gitops_application_sync"
    APPLICATION_OVERRIDE = "gitops_application_override"
    """Sync commits that the target revision does not reach, or with options that guard less."""
    APPLICATION_OVERRIDE_WINDOW = "gitops_application_override_window"
    """Sync once past a closed sync window, in an emergency and with a reason."""
    APPLICATION_ACTION = "gitops_application_action"
    """Run every resource action; roles may have patterns of single actions instead."""
    APPLICATION_EXEC = "gitops_application_exec"
    """Open shells in containers of an application's pods."""
    OBJECT_EDIT = "gitops_object_edit"
    """Change one live object of an application by hand."""
    OBJECT_DELETE = "gitops_object_delete"
    """Delete one live object of an application."""
    ACCESS_VIEW = "access_view"
    ACCESS_EDIT = "access_edit"
    AUDIT_VIEW = "audit_view"
    SETTINGS_EDIT = "settings_edit"


ALL = frozenset(Permission)
_VIEWS = frozenset(it for it in Permission if it.startswith("gitops_") and it.endswith("_view"))
_EDITS = frozenset(it for it in Permission if it.startswith("gitops_")) - {
    Permission.APPLICATION_EXEC
}

BUILT_IN_ROLES: Mapping[str, frozenset[Permission]] = MappingProxyType(
    {
        "viewer": _VIEWS,
        "deployer": _VIEWS | {Permission.APPLICATION_SYNC},
        "editor": _EDITS,
        "administrator": ALL,
    }
)


def object_permission(kind: ObjectKind, verb: str) -> Permission:
    """What it takes to view, edit or delete objects of the kind; ValueError if none is defined."""
    return Permission(f"gitops_{kind.noun}_{verb}")


def view_permission(kind: str) -> Permission | None:
    """What it takes to see objects of the kind; None for a kind that is shown to nobody."""
    known = object_kind(kind)
    return object_permission(known, "view") if known is not None and known.noun else None


_NOUNS = {
    "gpgkey": "GnuPG keys",
    "cert": "certificates",
    "repository": "repositories",
    "access": "roles and members",
    "audit": "the audit log",
    "settings": "the settings",
}
_PHRASES = {
    Permission.APPLICATION_OVERRIDE: "sync other revisions or with fewer safeguards",
    Permission.APPLICATION_OVERRIDE_WINDOW: "sync past a closed sync window",
    Permission.APPLICATION_ACTION: "run resource actions",
    Permission.APPLICATION_EXEC: "open shells in containers of applications",
    Permission.OBJECT_EDIT: "edit live objects of applications",
    Permission.OBJECT_DELETE: "delete single live objects of applications",
}


def phrase(permission: str) -> str:
    """Say what a permission allows, `view applications`; empty for a name that is none."""
    if permission not in ALL:
        return ""
    known = _PHRASES.get(Permission(permission))
    noun, _, verb = permission.removeprefix("gitops_").rpartition("_")
    return known or f"{verb} {_NOUNS.get(noun, noun + 's')}"
