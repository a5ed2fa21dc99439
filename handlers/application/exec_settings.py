"""ExecSettings: whether there are shells in containers, `exec.enabled` of `argocd-cm`. Pure.

They are off until somebody sets it, as in Argo CD. `exec.shells` names the shells that are tried
one after the other; a name that could be a command with arguments is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from handlers.application.argo_parameters import is_true
from handlers.application.unsupported import Unsupported

ENABLED, SHELLS = "exec.enabled", "exec.shells"
_USUAL = ("bash", "sh", "powershell", "cmd")
_MOST = 8
_SHELL = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._/-]{0,63}")


class ExecSettings(msgspec.Struct, frozen=True, kw_only=True):
    enabled: bool = False
    shells: tuple[str, ...] = _USUAL
    """In the order in which they are tried."""

    def problem(self) -> str:
        """Why there is no shell; empty where there are shells."""
        if self.enabled:
            return ""
        return (
            f'{ENABLED} of argocd-cm is not "true", so there are no shells in containers;'
            " an administrator of the cluster may set it"
        )


def read_exec_settings(data: Mapping[str, str]) -> ExecSettings:
    """Read the settings; without a name in `exec.shells` Argo CD's own are tried."""
    shells = _written(data)
    tried = tuple(filter(_SHELL.fullmatch, shells))[:_MOST]
    return ExecSettings(enabled=is_true(data.get(ENABLED, "")), shells=tried if shells else _USUAL)


def unsupported_shells(data: Mapping[str, str]) -> Iterator[Unsupported]:
    """Find the entries of `exec.shells` that are not tried."""
    tried = read_exec_settings(data).shells
    for shell in _written(data):
        if shell not in tried:
            yield Unsupported(
                field=f"{SHELLS} of argocd-cm: {shell[:64]}",
                consequence="it is not tried: expected the name of a program, and at most"
                f" {_MOST} of them",
            )


def _written(data: Mapping[str, str]) -> list[str]:
    return [word.strip() for word in data.get(SHELLS, "").split(",") if word.strip()]
