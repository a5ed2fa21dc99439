"""ApplyQuery: how an object is applied by server-side apply."""

from __future__ import annotations

import msgspec


class ApplyQuery(msgspec.Struct, frozen=True, kw_only=True):
    manager: str
    force: bool = False
    dry_run: bool = False
    validate: bool = True

    def query(self) -> dict[str, str]:
        strictness = "Strict" if self.validate else "Ignore"
        dry_run = {"dryRun": "All"} if self.dry_run else {}
        force = "true" if self.force else "false"
        return {
            "fieldManager": self.manager,
            "force": force,
            "fieldValidation": strictness,
            **dry_run,
        }
