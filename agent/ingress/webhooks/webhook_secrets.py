"""The webhook secrets of `argocd-secret` decide which providers must prove their deliveries.

As in Argo CD, deliveries are believed without proof as long as no provider has a secret: a forged
push only makes the agent look at Git again. From the first secret on, a provider is verified by its
own secret only and refused without one; otherwise a sender would choose the provider that needs no
proof. `WebhookSecrets.unproven` is the switch against that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.ingress.webhooks.provider import (
    TOKEN_HEADER,
    BodyCheck,
    NoBodyCheck,
    WebhookProvider,
)
from agent.ingress.webhooks.providers import PROVIDERS


class UnprovenDeliveryError(Exception):
    """The provider did not send this delivery; the message is for the person who set it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecrets:
    """The secrets by their key in `argocd-secret`; they never show, also not in `repr`."""

    values: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    unproven: bool = False
    """Believe a provider without a secret although another provider has one."""

    @property
    def believed(self) -> tuple[WebhookProvider, ...]:
        """The providers whose deliveries are believed without proof."""
        return self._without_secret if self._believes else ()

    @property
    def off(self) -> tuple[WebhookProvider, ...]:
        """The providers that have no secret while another has one: their deliveries are refused."""
        return () if self._believes else self._without_secret

    def of(self, provider: WebhookProvider) -> Sequence[bytes] | None:
        """Return the provider's secrets in the order of its keys; None where one is missing."""
        found = [self.values.get(key, b"") for key in provider.secret_keys]
        return found if all(found) else None

    @property
    def _without_secret(self) -> tuple[WebhookProvider, ...]:
        return tuple(provider for provider in PROVIDERS if self.of(provider) is None)

    @property
    def _believes(self) -> bool:
        return self.unproven or not any(self.values.values())


def read_secrets(setting: Callable[[str], str], *, unproven: bool = False) -> WebhookSecrets:
    """Read the secrets of all providers by `setting(key)` of `argocd-secret`; empty is not set."""
    keys = (key for provider in PROVIDERS for key in provider.secret_keys)
    values = {key: setting(key).strip().encode() for key in keys}
    return WebhookSecrets(values=values, unproven=unproven)


def verify_headers(
    provider: WebhookProvider, headers: Mapping[str, str], secrets: WebhookSecrets
) -> BodyCheck:
    """Check what the headers prove; what is left to check is the body.

    Raises UnprovenDeliveryError where the headers alone rule the delivery out.
    """
    own = secrets.of(provider)
    if own is None:
        if provider in secrets.believed:
            return NoBodyCheck()
        raise UnprovenDeliveryError(
            f"{provider.name} has no {key_names(provider)} in argocd-secret,"
            " and other hosts have theirs"
        )
    header = provider.proof_header
    if header not in headers:
        what = provider.proof if header == TOKEN_HEADER else f"the header {header}"
        raise UnprovenDeliveryError(
            f"{what} is missing: set the webhook's secret at {provider.title}"
        )
    check = provider.verify(headers[header], own)
    if check is None:
        raise UnprovenDeliveryError(mismatch(provider))
    return check


def mismatch(provider: WebhookProvider) -> str:
    """Say that the proof does not fit the secret."""
    return f"{provider.proof} does not match {key_names(provider)} of argocd-secret"


def key_names(provider: WebhookProvider) -> str:
    return " and ".join(provider.secret_keys)
