"""Types of fields that several nouns take: names, labels, times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec

NAME_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
Name = Annotated[str, msgspec.Meta(pattern=NAME_PATTERN, max_length=63)]
"""As Kubernetes wants names: it becomes part of subjects and file names."""
Title = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
"""For people: anything they can type."""
Text = Annotated[str, msgspec.Meta(max_length=200)]
Short = Annotated[str, msgspec.Meta(max_length=63)]
Id = Annotated[str, msgspec.Meta(max_length=64)]
LabelKey = Annotated[str, msgspec.Meta(min_length=1, max_length=317)]
Labels = Annotated[
    dict[LabelKey, Annotated[str, msgspec.Meta(max_length=63)]], msgspec.Meta(max_length=64)
]
Version = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


def text_of(time: datetime | None) -> str | None:
    """RFC 3339 in UTC."""
    if time is None:
        return None
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
