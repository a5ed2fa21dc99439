"""The settings of impersonation in `argocd-cm`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from handlers.application.argo_parameters import is_true
from handlers.application.unsupported import Unsupported

ENABLED = "application.sync.impersonation.enabled"
ENFORCED = "application.sync.impersonation.enforced"


class ImpersonationSettings(msgspec.Struct, frozen=True, kw_only=True):
    enabled: bool = False
    enforced: bool = False
    """Whether nothing is written where no account is named."""


OFF = ImpersonationSettings()


def read_impersonation(written: Mapping[str, str]) -> ImpersonationSettings:
    return ImpersonationSettings(
        enabled=is_true(written.get(ENABLED, "")), enforced=is_true(written.get(ENFORCED, ""))
    )


def impersonation_problems(written: Mapping[str, str]) -> Iterator[Unsupported]:
    """Hold syncs where nobody can tell whether they are to be made with narrower rights."""
    for key in (ENABLED, ENFORCED):
        if written.get(key, "").strip().lower() not in ("", "true", "false"):
            yield _harmful(key, "it cannot be read (expected true or false)")
    if is_true(written.get(ENFORCED, "")) and not is_true(written.get(ENABLED, "")):
        yield _harmful(ENFORCED, f"it has an effect only together with {ENABLED}")


def _harmful(key: str, consequence: str) -> Unsupported:
    return Unsupported(field=f"{key} of argocd-cm", consequence=consequence, harmful=True)
