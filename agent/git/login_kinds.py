"""The kinds of issued logins, in Argo CD's order; the first that a Secret holds is the one."""

from __future__ import annotations

from collections.abc import Mapping

from agent.git.issued_logins.azure import service_principal, workload_identity
from agent.git.issued_logins.github_app import github_app
from agent.git.issued_logins.google import service_account
from agent.git.issued_logins.issuer import LoginIssuer

_KINDS = (github_app, service_account, workload_identity, service_principal)


def issuer_of(data: Mapping[str, str]) -> tuple[LoginIssuer | None, str]:
    """Read the issuer of a Secret's data, and why it cannot be used."""
    for read in _KINDS:
        issuer, problem = read(data)
        if issuer is not None or problem:
            return issuer, problem
    return None, ""
