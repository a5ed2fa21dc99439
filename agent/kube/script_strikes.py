"""ScriptStrikes counts the objects of a namespace for which a health script needed too much.

Whether a script ends depends on the object that it judges, and a tenant writes its objects: so the
strikes of one namespace switch a script off there and nowhere else, and not for ever. After some
minutes the next object is tried once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from agent.kube.script_queue import JudgedIndex, Tenant
from handlers.application.health_scripts import HealthScript

MOST = 3
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class _Strikes:
    count: int
    until: float


class ScriptStrikes:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: WeakKeyDictionary[JudgedIndex, dict[tuple[str, HealthScript], _Strikes]] = (
            WeakKeyDictionary()
        )

    def are_out(self, tenant: Tenant, script: HealthScript) -> bool:
        """Tell whether the script is not to be run for objects of the namespace now."""
        found = self._known.get(tenant.index, {}).get((tenant.namespace, script))
        return found is not None and found.count >= MOST and self._clock() < found.until

    def add(self, tenant: Tenant, script: HealthScript) -> None:
        here = self._known.setdefault(tenant.index, {})
        before = here.get((tenant.namespace, script))
        count = before.count + 1 if before is not None else 1
        here[tenant.namespace, script] = _Strikes(count, self._clock() + SECONDS)

    def forgive(self, tenant: Tenant, script: HealthScript) -> None:
        """Forget the strikes: an object was judged in time."""
        self._known.get(tenant.index, {}).pop((tenant.namespace, script), None)

    def clear(self) -> None:
        self._known.clear()
