"""UnknownField is a field of an Application or AppProject that this version does not know."""

from __future__ import annotations

import msgspec


class UnknownField(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """E.g. `spec.syncPolicy.automated.prunne`."""
    meant: str = ""
    """The field that the author probably meant; empty where none resembles it."""

    @property
    def hint(self) -> str:
        return f"; did you mean {self.meant}?" if self.meant else ""

    @property
    def message(self) -> str:
        if self.meant:
            return f"{self.path} is not a field{self.hint}"
        return f"{self.path} is not known to the agent and is ignored"
