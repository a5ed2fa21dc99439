"""ObjectReader reads Applications and AppProjects, and remembers why one cannot be read.

A malformed Application is read without its spec. The typed value has no place for a field that this
version does not know, so such fields are found in the object's JSON and named in the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec
import structlog
from msgspec.structs import replace

from agent.kube.nesting import CUT, was_cut
from bus.identity import AppKey
from handlers.application.application import (
    Application,
    AppProject,
    read_application,
    read_project,
    read_without_spec,
)
from handlers.application.unknown_field import UnknownField
from handlers.application.unknown_fields import unknown_fields

log = structlog.get_logger()

_MOST = 20


class ArgoResourceReader:
    def __init__(self) -> None:
        self._malformed: dict[AppKey, str] = {}

    def application(self, raw: bytes) -> Application:
        """Read an Application; of a malformed one only metadata and status."""
        try:
            app = _whole_application(raw)
        except msgspec.ValidationError as error:
            app = read_without_spec(raw)
            self._malformed[app.key] = str(error)
            log.warning("application is malformed", app=str(app.key), problem=str(error))
            return replace(app, unknown_fields=())
        self._malformed.pop(app.key, None)
        return replace(app, unknown_fields=_unknown("Application", raw))

    def project(self, raw: bytes) -> AppProject | None:
        """Read an AppProject; None where it is malformed."""
        try:
            project = read_project(raw)
        except msgspec.ValidationError as error:
            log.warning("project is malformed and not used", error=str(error))
            return None
        return replace(project, unknown_fields=_unknown("AppProject", raw))

    def problem(self, key: AppKey) -> str:
        return self._malformed.get(key, "")

    def forget(self, key: AppKey) -> None:
        self._malformed.pop(key, None)


def _whole_application(raw: bytes) -> Application:
    """Read an Application; raises ValidationError also where a part of it was cut."""
    if was_cut(raw):
        raise msgspec.ValidationError(f"a part of it is {CUT}")
    return read_application(raw)


class _Object(msgspec.Struct, frozen=True):
    spec: Mapping[str, Any] = {}


_OBJECT = msgspec.json.Decoder(_Object)


def _unknown(kind: str, raw: bytes) -> tuple[UnknownField, ...]:
    return tuple(islice(unknown_fields(kind, {"spec": _OBJECT.decode(raw).spec}), _MOST))
