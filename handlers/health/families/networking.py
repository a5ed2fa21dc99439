"""The health of meshes, ingress controllers and networks."""

from __future__ import annotations

from handlers.health.conditions import CONDITIONS, conditions, current, message_of
from handlers.health.predicates import Filled
from handlers.health.rule import UNKNOWN, Conditions, Field, Outcomes, Rule, Scan
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest, items, kind, mapping

_ISTIO_OPERATOR = Rule(
    Field(
        "status.status",
        unknown=(0, "NONE"),
        progressing=(1, "UPDATING", 2, "RECONCILING"),
        healthy=(3, "HEALTHY"),
        degraded=(4, "ERROR"),
    )
)

_GLOO_STATES: Outcomes = {
    "healthy": ("Accepted", 1),
    "degraded": ("Warning", 3, "Rejected", 2),
    "suspended": ("Pending", 0),
}
_OF_NAMESPACE = Field("state", **_GLOO_STATES)
_OF_ALL = Field("status.state", **_GLOO_STATES)


def gloo(manifest: Manifest) -> Health:
    """Each namespace of a controller reports its state; older versions report one for all."""
    for reported in mapping(manifest, "status", "statuses").values():
        found = _OF_NAMESPACE(reported)
        if found is not None:
            return found
    return _OF_ALL(manifest) or progressing("no controller has accepted the object yet")


def http_proxy(manifest: Manifest) -> Health:
    """Judge a proxy by `Valid`; one that includes others may be invalid on its own."""
    includes = Filled("spec.includes")(manifest)
    for entry in current(manifest, CONDITIONS):
        if entry.get("type") == "Valid" and entry.get("status") in ("True", "False"):
            fine = includes or entry.get("status") == "True"
            return healthy(message_of(entry)) if fine else degraded(message_of(entry))
    return progressing("the newest spec has not been validated yet")


def airlock(manifest: Manifest) -> Health:
    """A policy reports for each ancestor; the other kinds have no status."""
    if not kind(manifest).endswith("Policy"):
        return healthy()
    ancestors = items(manifest, "status", "ancestors")
    if not ancestors:
        return progressing("the policy is attached to nothing yet")
    generation = mapping(manifest, "metadata").get("generation")
    for ancestor in ancestors:
        for entry in conditions(ancestor, "conditions"):
            if entry.get("observedGeneration") != generation:
                return progressing("the newest spec has not been seen yet")
    return _refused(ancestors) or healthy()


def _refused(ancestors: tuple[Manifest, ...]) -> Health | None:
    for ancestor in ancestors:
        by_type = {entry.get("type"): entry for entry in conditions(ancestor, "conditions")}
        accepted, resolved = by_type.get("Accepted"), by_type.get("ResolvedRefs")
        if accepted is None:
            return degraded("a gateway has not accepted the policy")
        for entry in (accepted, resolved):
            if entry is not None and entry.get("status") != "True":
                return degraded(message_of(entry))
    return None


KINDS: KindTable = {
    "install.istio.io": {"IstioOperator": _ISTIO_OPERATOR},
    "gateway.solo.io": {
        "Gateway MatchableHttpGateway RouteOption RouteTable": gloo,
        "VirtualHostOption VirtualService": gloo,
    },
    "gloo.solo.io": {"Proxy Settings Upstream UpstreamGroup": gloo},
    "projectcontour.io": {
        "HTTPProxy": http_proxy,
        "ExtensionService": Rule(
            Scan(only_current=True, healthy="Valid=True", degraded="Valid=False")
        ),
    },
    "microgateway.airlock.com": {"*": airlock},
    "kiali.io": {
        "Kiali": Rule(
            Scan(healthy="Successful=True", degraded="Failure=True", progressing="*=*/Running")
        ),
    },
    "proclaim.dogmatiq.io": {
        "DNSSDServiceInstance": Rule(
            Conditions(
                degraded=("Adopted=False", "Advertised=*/AdvertiseError|UnadvertiseError"),
                unknown="Discoverable=*/DiscoveryError",
                healthy="Discoverable=True",
            )
        ),
    },
    "nmstate.io": {
        "NodeNetworkConfigurationPolicy": Rule(
            Scan(
                healthy="Available=True",
                degraded="Degraded=True",
                progressing="Progressing=True",
                suspended="Ignored=True",
            )
        ),
    },
    "flagger.app": {
        "Canary": Rule(
            Field(
                "status.phase",
                degraded="Failed",
                progressing=("Progressing", "Finalising", "Promoting"),
                healthy=("Succeeded", "Initialized"),
            ),
            otherwise=UNKNOWN,
        ),
    },
}
