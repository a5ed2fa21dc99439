"""Who was given what where, and where a thing stands, as values.

A *binding* gives a role's permissions to a principal in a *scope*: the account, an organisation or
a project, narrowed to a group of applications by labels where it names one. A *place* says where
the thing stands that somebody wants to touch.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from service.access.permissions import Permission


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Neither organisation nor project: the whole account. `labels`: None for no narrowing."""

    organisation: str = ""
    project: str = ""
    labels: Mapping[str, str] | None = None

    @property
    def whole_account(self) -> bool:
        return not (self.organisation or self.project) and self.labels is None


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    permissions: frozenset[Permission]
    scope: Scope = Scope()


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of the organisations and projects it belongs to; `labels` only for applications."""

    organisations: frozenset[str] = frozenset()
    projects: frozenset[str] = frozenset()
    labels: Mapping[str, str] | None = None


ACCOUNT = Place()
"""What belongs to the account as a whole: only a binding to the account reaches it."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    allowed: bool
    by: str = ""
    """The binding that allowed it."""
