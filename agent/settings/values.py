"""Types of single settings: how each is read from text, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
)
from pydantic_settings import NoDecode

from agent.durations import seconds_of

MIB = 1024 * 1024
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def items(value: object) -> object:
    """`a, b` -> the items; what is a list already (from the file) stays one."""
    if isinstance(value, str):
        return tuple(item for part in value.split(",") if (item := part.strip()))
    return value


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("expected 1 to 63 lower-case letters, digits and inner hyphens")
    return text


def _home(path: Path) -> Path:
    return path.expanduser()


Name = Annotated[str, AfterValidator(_name)]
Namespaces = Annotated[tuple[Name, ...], NoDecode, BeforeValidator(items)]
RightsProfile = Literal["", "namespaced", "cluster", "kinds", "read-only"]
Kinds = Annotated[tuple[str, ...], NoDecode, BeforeValidator(items)]
Seconds = Annotated[float, BeforeValidator(seconds_of), Field(gt=0)]
StreamSize = Annotated[ByteSize, Field(ge=MIB)]
PathHere = Annotated[Path, AfterValidator(_home)]


class SettingsGroup(BaseModel):
    """Settings with one prefix; frozen once read."""

    model_config = ConfigDict(extra="ignore", frozen=True)
