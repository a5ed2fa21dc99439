"""The health of the Gateway API: parents, listeners and ancestors report each for itself."""

from __future__ import annotations

from collections.abc import Iterable

from handlers.health.conditions import conditions, is_current
from handlers.health.predicates import Either, Filled
from handlers.health.rule import (
    HEALTHY,
    Conditions,
    Each,
    Outcomes,
    Rule,
    Scan,
    When,
)
from handlers.health.states import Health, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, items

_ACCEPTED: Outcomes = {
    "degraded": ("ResolvedRefs=False", "Accepted=False"),
    "progressing": "Programmed!=True",
}
_PARENT = Conditions(at="conditions", **_ACCEPTED)
_POLICY = Conditions(at="conditions", degraded=("Accepted!=True", "ResolvedRefs!=True"))
_ACCEPTED_POLICY = Conditions(at="conditions", healthy="Accepted=True")

_GATEWAY = Rule(
    Conditions(**_ACCEPTED),
    Each("status.listeners", _PARENT),
    When(HEALTHY, Either(Filled("status.conditions"), Filled("status.listeners"))),
)


def http_route(route: Manifest) -> Health:
    """Judge by the parents that have seen the newest spec; the others are left out."""
    parents = items(route, "status", "parents")
    return _of_parents(one for one in parents if _is_current(one, route))


def grpc_route(route: Manifest) -> Health:
    return _of_parents(items(route, "status", "parents"))


def _of_parents(parents: Iterable[Manifest]) -> Health:
    heard = [one for one in parents if conditions(one, "conditions")]
    for parent in heard:
        found = _PARENT(parent)
        if found is not None:
            return found
    return healthy() if heard else progressing("no parent has accepted the route yet")


def backend_tls_policy(policy: Manifest) -> Health:
    ancestors = items(policy, "status", "ancestors")
    if not all(_is_current(one, policy) for one in ancestors):
        return progressing("a gateway has not seen the newest spec yet")
    for clause in (_POLICY, _ACCEPTED_POLICY):
        for ancestor in ancestors:
            found = clause(ancestor)
            if found is not None:
                return found
    return progressing("no gateway has accepted the policy yet")


def _is_current(holder: Manifest, manifest: Manifest) -> bool:
    return all(is_current(entry, manifest) for entry in conditions(holder, "conditions"))


KINDS: KindTable = {
    "gateway.networking.k8s.io": {
        "GatewayClass": Rule(
            Scan(only_current=True, healthy="Accepted=True", degraded="Accepted=False")
        ),
        "Gateway": _GATEWAY,
        "HTTPRoute": http_route,
        "GRPCRoute": grpc_route,
        "BackendTLSPolicy": backend_tls_policy,
    },
}
