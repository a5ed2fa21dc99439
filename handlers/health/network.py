"""Service and Ingress: whether the outside has given an address."""

from __future__ import annotations

from handlers.health.states import Health, healthy, progressing
from handlers.manifest.access import Manifest, items, text


def service(manifest: Manifest) -> Health:
    if text(manifest, "spec", "type") != "LoadBalancer":
        return healthy()
    return _addressed(manifest)


def ingress(manifest: Manifest) -> Health:
    return _addressed(manifest)


def _addressed(manifest: Manifest) -> Health:
    if items(manifest, "status", "loadBalancer", "ingress"):
        return healthy()
    return progressing("no load balancer has given an address yet")
