"""Cause: the deepest ill object of an application, and what it says of itself.

One value for facts and for the link, because people read the same sentence everywhere:
`Pod web-7d9-x2k: ImagePullBackOff: registry/web:9 not found`.
"""

from __future__ import annotations

import msgspec

from bus.status import HealthStatus


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an application is not healthy."""

    object: str
    """`group/kind/namespace/name`."""
    health: HealthStatus
    """Of the object, not of its application."""
    reason: str = ""
    """One word of the cluster: `ImagePullBackOff`, `FailedScheduling`; empty where it has none."""
    message: str = ""
    since: str = ""
    """RFC 3339; empty where the cluster does not say."""
