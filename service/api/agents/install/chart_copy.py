"""Copies of the chart's objects, which `make docs` makes from deploy/ and the service ships.

`fullest` is the chart with every choice of the wizard taken, so that a choice only changes or
removes objects. `base` is what deploy/base holds, from which a kustomize overlay starts. The
definitions are the same in both and are stored in the first only.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

Object = dict[str, Any]
DEFINITION = "CustomResourceDefinition"
HOME = "argocd"
"""The namespace that both are made for."""


def fullest() -> list[Object]:
    """A copy that the caller may change."""
    return _read("fullest.json")


def base() -> list[Object]:
    """A copy that the caller may change."""
    definitions = [it for it in fullest() if it["kind"] == DEFINITION]
    for it in definitions:
        it["metadata"].pop("annotations", None)
    return [*_read("base.json"), *definitions]


def managed(profile: str) -> list[Object]:
    """Kinds as `{apiGroups, resources}` that the chart lets an agent of a profile write."""
    return msgspec.json.decode(_raw("profiles.json"), type=dict[str, list[Object]])[profile]


def _read(name: str) -> list[Object]:
    return msgspec.json.decode(_raw(name), type=list[Object])


@cache
def _raw(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()
