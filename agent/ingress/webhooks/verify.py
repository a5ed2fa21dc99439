"""Did the host send this? Checked over the raw bytes, before anything in them is read.

The secrets are Argo CD's: `webhook.github.secret` and `webhook.gitlab.secret` of `argocd-secret`.
As there, deliveries are believed without proof as long as no host has a secret: a forged push only
makes us look at Git again. From the first secret on, each host is proven by its own secret only,
or anybody would choose the host that needs none; `Secrets.unproven` is the switch against that.

What the headers alone tell is checked before the body is read (`header_refusal`); a signature is
computed while the body arrives (`Signature`). All comparisons take the same time whatever the
answer.
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
_PROOF_HEADERS: Mapping[Provider, str] = {
    Provider.GITHUB: github.SIGNATURE_HEADER,
    Provider.GITLAB: gitlab.TOKEN_HEADER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What the hosts sign with; `None` means that none is set. Never shown, also not by `repr`."""

    github: bytes | None = field(default=None, repr=False)
    gitlab: bytes | None = field(default=None, repr=False)
    unproven: bool = False
    """Believe a host without a secret although another host has one."""

    @property
    def believed(self) -> tuple[Provider, ...]:
        """The hosts whose webhooks are believed without proof: said once at start."""
        return tuple(it for it in self._without if self._believes)

    @property
    def off(self) -> tuple[Provider, ...]:
        """The hosts whose webhooks are refused, as they have no secret and another has one."""
        return tuple(it for it in self._without if not self._believes)

    def of(self, provider: Provider) -> bytes | None:
        return self.github if provider is Provider.GITHUB else self.gitlab

    @property
    def _without(self) -> tuple[Provider, ...]:
        return tuple(it for it in Provider if self.of(it) is None)

    @property
    def _believes(self) -> bool:
        return self.unproven or len(self._without) == len(Provider)


def read_secrets(setting: Callable[[str], str], *, unproven: bool = False) -> Secrets:
    """By `setting(key)` of `argocd-secret`; an empty value is none."""
    found = {provider: setting(key).strip().encode() for provider, key in SECRET_KEYS.items()}
    return Secrets(
        github=found[Provider.GITHUB] or None,
        gitlab=found[Provider.GITLAB] or None,
        unproven=unproven,
    )


def header_refusal(provider: Provider, headers: Mapping[str, str], secrets: Secrets) -> str | None:
    """Why the headers alone rule the delivery out, for who set the webhook up; None if not."""
    secret, key = secrets.of(provider), SECRET_KEYS[provider]
    if secret is None:
        if provider in secrets.believed:
            return None
        return f"{provider} has no {key} in argocd-secret, and other hosts have theirs"
    name = _PROOF_HEADERS[provider]
    if name not in headers:
        return f"the header {name} is missing: set the webhook's secret at {provider}"
    if provider is Provider.GITLAB and not _same(headers[name], secret):
        return _mismatch(provider)
    return None


class Signature:
    """The HMAC of a body that is still arriving; for hosts that sign nothing it does nothing."""

    def __init__(self, provider: Provider, headers: Mapping[str, str], secrets: Secrets) -> None:
        secret = secrets.of(provider)
        signs = provider is Provider.GITHUB and secret is not None
        self._hmac = hmac.new(secret, digestmod=hashlib.sha256) if signs and secret else None
        self._given = headers.get(_PROOF_HEADERS[provider], "")
        self._provider = provider

    def feed(self, chunk: bytes) -> None:
        if self._hmac is not None:
            self._hmac.update(chunk)

    def refusal(self) -> str | None:
        """Why the body is not the host's; None if it is, or if the host signs no bodies."""
        if self._hmac is None or _same(self._given, _written(self._hmac)):
            return None
        return _mismatch(self._provider)


def sign(secret: bytes, body: bytes) -> str:
    """`X-Hub-Signature-256` of `body`."""
    return _written(hmac.new(secret, body, hashlib.sha256)).decode()


def _written(signature: hmac.HMAC) -> bytes:
    return b"sha256=" + signature.hexdigest().encode()


def _mismatch(provider: Provider) -> str:
    return f"{_PROOF_HEADERS[provider]} does not match {SECRET_KEYS[provider]} of argocd-secret"


def _same(given: str, expected: bytes) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected)
