"""What is asked and answered about one live object: its actions, an edit, its deletion."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from service.api.applications.command_requests import ObjectRef
from service.http.endpoint import ResponseModel
from service.http.fields import Text

Uid = Annotated[str, msgspec.Meta(max_length=64)]
ActionParam = Annotated[str, msgspec.Meta(max_length=4096)]
Params = Annotated[
    dict[Annotated[str, msgspec.Meta(min_length=1, max_length=200)], ActionParam],
    msgspec.Meta(max_length=20),
]


class OfferedAction(ResponseModel, frozen=True, kw_only=True):
    name: str
    title: str
    """What a script of `argocd-cm` calls it; else empty."""
    params: list[str]
    """The names of its parameters, which are text."""
    disabled: bool
    """It makes no sense for the object as it is now; it can be run all the same."""
    why: str
    """Why it is disabled."""
    permitted: bool
    """Whether the caller may run it."""


class ResourceActions(ResponseModel, frozen=True, kw_only=True):
    actions: list[OfferedAction]
    problem: str
    """Why actions of `argocd-cm` are missing; empty where none are."""


class ObjectChangeRequest(ObjectRef, frozen=True, kw_only=True):
    """`uid`: of the object that was looked at; another one of its name is not changed."""

    uid: Uid = ""


class ActionRequest(ObjectChangeRequest, frozen=True, kw_only=True):
    action: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    params: Params = {}


class EditRequest(ObjectChangeRequest, frozen=True, kw_only=True):
    """`patch` is a JSON merge patch; a mask in it stands for the value of the live object."""

    patch: dict[str, Any]
    resource_version: Text = ""
    """Of the object that was looked at; empty: any."""


class DeletionRequest(ObjectChangeRequest, frozen=True, kw_only=True):
    propagation: Literal["foreground", "background", "orphan"] = "foreground"
    force: bool = False
    """Delete it without a grace period."""


class ChangedField(ResponseModel, frozen=True, kw_only=True):
    """A field that changes; null stands for an absent one."""

    path: str
    before: Any
    after: Any


class ObjectPreview(ResponseModel, frozen=True, kw_only=True):
    changes: list[ChangedField]
    creates: list[dict[str, Any]]
    """New objects, redacted."""
    deletes: list[str]
    """Objects as `group/kind/namespace/name`; the named one comes first."""
    drift: list[str]
    """Fields that would differ from Git and do not differ now."""
    notes: list[str]
    """What follows, in sentences."""
