"""LoginIssuer is what a Secret holds instead of a password: it gets a login that soon ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from agent.git.issued_logins.login_calls import LoginCalls
from bus.repository_url import RepositoryUrl


class LoginIssueError(Exception):
    """No login was issued; the message says why, the remedy what to do. Nothing secret is quoted.

    `refused`: the host does not accept the key; else it could not be asked.
    """

    def __init__(self, message: str, remedy: str, *, refused: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.refused = refused


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedLogin:
    """A user and password, or a token for the header `Authorization: Bearer`."""

    until: datetime
    username: str = ""
    password: str = field(default="", repr=False)
    bearer_token: str = field(default="", repr=False)


class LoginIssuer(Protocol):
    """A frozen value: equal issuers share their logins."""

    @property
    def for_registries(self) -> bool:
        """Whether a login is issued for OCI registries too, whose addresses are `oci://`."""
        ...

    def scope(self, url: RepositoryUrl) -> str:
        """Name the part of the address that the login depends on; empty for none."""
        ...

    async def issue(self, url: RepositoryUrl, calls: LoginCalls, now: datetime) -> IssuedLogin:
        """Ask the host for a login; raises LoginIssueError."""
        ...
