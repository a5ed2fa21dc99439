"""Impersonation: the ServiceAccount as which the objects of an Application are written. Pure.

An AppProject names accounts for its destinations in `destinationServiceAccounts`, and they count
while `application.sync.impersonation.enabled` of `argocd-cm` is true. The first entry whose globs
match server and namespace of the destination decides. Where none does, the agent acts as itself, or
not at all where the setting `enforced` says so. An entry that cannot be understood stops every
Application of the project: whichever was meant, it was meant to narrow what they may do. A
destination that the project does not permit has no account, so nobody leaves his by naming one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from handlers.application.address_pattern import any_matches, matches
from handlers.application.application import Application, AppProject
from handlers.application.destination import DestinationCluster
from handlers.application.impersonation_settings import ENABLED, ENFORCED, ImpersonationSettings
from handlers.application.project import destination_permitted
from handlers.application.spec import Destination
from handlers.application.unsupported import Unsupported

_FIELD = "spec.destinationServiceAccounts"
_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAME = r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?"
_ACCOUNT = re.compile(rf"(?:(?P<namespace>{_LABEL}):)?(?P<name>{_NAME})")
_NAMESPACE = re.compile(_LABEL)


class ActingUser(msgspec.Struct, frozen=True, kw_only=True):
    """As whom an Application's objects are written; with a problem nothing may be written."""

    name: str = ""
    """The user's name at the API server; empty for the agent itself."""
    problem: str = ""


THE_AGENT = ActingUser()


def acting_user(
    app: Application,
    project: AppProject | None,
    cluster: DestinationCluster,
    settings: ImpersonationSettings,
) -> ActingUser:
    """Find the account; `cluster` is that of the destination, with its server."""
    if not settings.enabled:
        return THE_AGENT
    if project is None:
        return ActingUser(problem=f"the AppProject {app.spec.project!r} does not exist")
    destination = app.spec.destination
    found = chain(_problems(project), _place_problems(project, destination, cluster))
    if problem := next(found, ""):
        return ActingUser(problem=problem)
    space = destination.namespace
    for rule in project.spec.destination_service_accounts:
        if any_matches(rule["server"], (cluster.server,)) and matches(rule["namespace"], space):
            return _account(rule["defaultServiceAccount"], space or app.key.namespace)
    if not settings.enforced:
        return THE_AGENT
    return ActingUser(
        problem=(
            f"the AppProject {project.metadata.name!r} names no ServiceAccount for server "
            f"{cluster.server!r} and namespace {space!r}, and {ENFORCED} of argocd-cm is true: "
            f"add an entry to {_FIELD}"
        )
    )


def unused_accounts(
    project: AppProject | None, settings: ImpersonationSettings
) -> Iterator[Unsupported]:
    """Tell of accounts that have no effect because impersonation is off, as in Argo CD."""
    if project is not None and project.spec.destination_service_accounts and not settings.enabled:
        yield Unsupported(
            field=f"{_FIELD} of AppProject {project.metadata.name}",
            consequence=(
                f"syncs are made with the agent's own rights until {ENABLED} of argocd-cm is true"
            ),
        )


def _account(written: str, namespace: str) -> ActingUser:
    """Name the account: `name` is of the destination's namespace, `namespace:name` of its own."""
    parts = _ACCOUNT.fullmatch(written)
    space = (parts["namespace"] if parts else None) or namespace
    if parts is None or not _NAMESPACE.fullmatch(space):
        return ActingUser(problem=f"{_FIELD}: {space!r} is no namespace of a ServiceAccount")
    return ActingUser(name=f"system:serviceaccount:{space}:{parts['name']}")


def _problems(project: AppProject) -> Iterator[str]:
    for number, rule in enumerate(project.spec.destination_service_accounts):
        if why := _problem(rule):
            yield (
                f"the AppProject {project.metadata.name!r} has an entry that cannot be acted on, "
                f"{_FIELD}[{number}]: {why}"
            )


def _place_problems(
    project: AppProject, destination: Destination, cluster: DestinationCluster
) -> Iterator[str]:
    if not project.spec.destination_service_accounts:
        return
    if not destination_permitted(project, destination, cluster):
        yield (
            f"the AppProject {project.metadata.name!r} names ServiceAccounts for its destinations, "
            f"and does not permit server {cluster.server!r} with namespace "
            f"{destination.namespace!r}: correct spec.destination of the Application, or add it to "
            "spec.destinations of the project"
        )


def _problem(rule: Mapping[str, Any]) -> str:
    for field in ("server", "namespace", "defaultServiceAccount"):
        if not isinstance(rule.get(field, ""), str):
            return f"{field} is no text"
    if not rule.get("server"):
        return "server is empty; expected an address of an API server, or a glob of addresses"
    if "namespace" not in rule:
        return "namespace is missing; expected a namespace or a glob of namespaces"
    if "!" in rule["server"] or "!" in rule["namespace"]:
        return "server and namespace cannot be negated with `!` here"
    account = rule.get("defaultServiceAccount", "")
    if not _ACCOUNT.fullmatch(account):
        return (
            f"defaultServiceAccount {account[:100]!r} is no ServiceAccount; expected `name` or "
            "`namespace:name`"
        )
    return ""
