"""The health of certificates, secrets from elsewhere, and policies."""

from __future__ import annotations

from handlers.health.conditions import conditions, message_of
from handlers.health.patterns import READY
from handlers.health.predicates import StartsWith
from handlers.health.rule import DEGRADED, Conditions, Field, Rule, Scan, When
from handlers.health.states import Health, degraded, healthy, progressing
from handlers.health.table import KindTable
from handlers.manifest.access import Manifest


def cluster_external_secret(manifest: Manifest) -> Health:
    """Only the newest condition counts, which the controller appends."""
    entries = conditions(manifest)
    last = entries[-1] if entries else {}
    if last.get("status") == "True" and last.get("type") == "Ready":
        return healthy(message_of(last))
    if last.get("status") == "True" and last.get("type") in ("PartiallyReady", "NotReady"):
        return degraded(message_of(last))
    return progressing("no namespace has the secret yet")


KINDS: KindTable = {
    "cert-manager.io": {
        "Certificate": Rule(Conditions(progressing="Issuing=True"), READY),
        "Issuer ClusterIssuer": READY,
    },
    "certmanager.k8s.io": {"Issuer Certificate": READY},
    "external-secrets.io": {
        "ExternalSecret PushSecret SecretStore ClusterSecretStore": READY,
        "ClusterExternalSecret": cluster_external_secret,
    },
    "kubernetes-client.io": {
        "ExternalSecret": Rule(
            Field("status.status", healthy="SUCCESS"),
            When(DEGRADED, StartsWith("status.status", "ERROR"), message="the secret is not there"),
        ),
    },
    "bitnami.com": {"SealedSecret": Rule(Scan(degraded="Synced=False", healthy="Synced=True"))},
    "onepassword.com": {"OnePasswordItem": READY},
    "kyverno.io": {"Policy": Rule(Scan(healthy="Ready=True/Succeeded:Ready"))},
}
