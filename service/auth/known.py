"""Credentials that were valid a moment ago, by hash: whose bucket is asked before the database is.

Everybody else is a stranger and is counted by address. So a stranger's guesses at tokens cost the
database no more than the address's rate, and who has logged in does not notice them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

_MOST = 20_000


@dataclass(slots=True)
class KnownCredentials:
    """It proves nothing: the database is still asked, each time."""

    most: int = _MOST
    _principals: OrderedDict[str, str] = field(default_factory=OrderedDict)

    def principal(self, credential: str) -> str | None:
        """The id of the principal that this hash was valid for."""
        return self._principals.get(credential)

    def note(self, credential: str, principal: str) -> None:
        self._principals[credential] = principal
        self._principals.move_to_end(credential)
        if len(self._principals) > self.most:
            self._principals.popitem(last=False)

    def forget(self, credential: str) -> None:
        self._principals.pop(credential, None)
