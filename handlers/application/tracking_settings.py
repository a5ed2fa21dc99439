"""The tracking method of `argocd-cm`: which marks the objects of applications carry. Pure.

A value that cannot be understood leaves the default in its place, and is reported: the caller holds
automated syncs, because the objects of every application would be marked in another way than meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from handlers.manifest.tracking_method import (
    INSTANCE_LABEL,
    Tracking,
    TrackingMethod,
    is_label_key,
)

METHOD = "application.resourceTrackingMethod"
LABEL = "application.instanceLabelKey"
INSTALLATION = "installationID"
_LONGEST = 253


class TrackingSettings(msgspec.Struct, frozen=True, kw_only=True):
    tracking: Tracking
    unreadable: tuple[tuple[str, str], ...] = ()
    """Keys that cannot be understood, and why."""


def read_tracking(written: Mapping[str, str]) -> TrackingSettings:
    method, label, installation = (written.get(key, "").strip() for key in _KEYS)
    problems = dict(_problems(method, label, installation))
    tracking = Tracking(
        method=TrackingMethod(method) if method and METHOD not in problems else _DEFAULT,
        label_key=label if label and LABEL not in problems else INSTANCE_LABEL,
        installation_id=installation if INSTALLATION not in problems else "",
        is_chosen=bool(method) and METHOD not in problems,
    )
    return TrackingSettings(tracking=tracking, unreadable=tuple(problems.items()))


_KEYS = (METHOD, LABEL, INSTALLATION)
_DEFAULT = TrackingMethod.ANNOTATION


def _problems(method: str, label: str, installation: str) -> Iterator[tuple[str, str]]:
    known = ", ".join(TrackingMethod)
    if method and method not in tuple(TrackingMethod):
        yield METHOD, f"{method[:_LONGEST]!r} is none of {known}"
    if label and not is_label_key(label):
        yield LABEL, f"{label[:_LONGEST]!r} is no key of a label"
    if len(installation) > _LONGEST:
        yield INSTALLATION, f"it is longer than {_LONGEST} characters"
