"""Did the host send this? Checked over the raw bytes, before anything in them is read.

The secrets are Argo CD's: `webhook.github.secret` and `webhook.gitlab.secret` of `argocd-secret`.
As there, a host without a secret is believed: a forged push only makes us look at Git again. All
comparisons take the same time whatever the answer.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agent.ingress.webhooks import github, gitlab
from agent.ingress.webhooks.push import Provider

SECRET_KEYS: Mapping[Provider, str] = {
    Provider.GITHUB: "webhook.github.secret",
    Provider.GITLAB: "webhook.gitlab.secret",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What the hosts sign with; `None` means that none is set. Never shown, also not by `repr`."""

    github: bytes | None = field(default=None, repr=False)
    gitlab: bytes | None = field(default=None, repr=False)

    @property
    def missing(self) -> tuple[Provider, ...]:
        """Hosts whose webhooks are believed without proof: said once at start."""
        return tuple(p for p in Provider if self.of(p) is None)

    def of(self, provider: Provider) -> bytes | None:
        return self.github if provider is Provider.GITHUB else self.gitlab


def read_secrets(setting: Callable[[str], str]) -> Secrets:
    """By `setting(key)` of `argocd-secret`; an empty value is none."""
    found = {provider: setting(key).strip().encode() for provider, key in SECRET_KEYS.items()}
    return Secrets(
        github=found[Provider.GITHUB] or None,
        gitlab=found[Provider.GITLAB] or None,
    )


def refusal(
    provider: Provider, headers: Mapping[str, str], body: bytes, secrets: Secrets
) -> str | None:
    """Why the delivery is not believed, for the one who set the webhook up; None if it is."""
    secret = secrets.of(provider)
    if secret is None:
        return None
    name, proven = _proof(provider, headers, body, secret)
    if name not in headers:
        return f"the header {name} is missing: set the webhook's secret at {provider}"
    if not proven:
        return f"{name} does not match {SECRET_KEYS[provider]} of argocd-secret"
    return None


def sign(secret: bytes, body: bytes) -> str:
    """`X-Hub-Signature-256` of `body`."""
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


def _proof(
    provider: Provider, headers: Mapping[str, str], body: bytes, secret: bytes
) -> tuple[str, bool]:
    if provider is Provider.GITHUB:
        given = headers.get(github.SIGNATURE_HEADER, "")
        return github.SIGNATURE_HEADER, _same(given, sign(secret, body).encode())
    given = headers.get(gitlab.TOKEN_HEADER, "")
    return gitlab.TOKEN_HEADER, _same(given, secret)


def _same(given: str, expected: bytes) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected)
