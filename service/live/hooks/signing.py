"""How a receiver knows that a delivery is ours, fresh, and not changed on its way. Pure.

`X-GitOps-Signature: t=<unix seconds>,v1=<hex>` where hex is HMAC-SHA256, keyed with the webhook's
secret, over `<t>.<body>`. A receiver refuses old times; the delivery's id is the same in each try.
"""

from __future__ import annotations

import hashlib
import hmac

import msgspec

SIGNATURE = "X-GitOps-Signature"
DELIVERY = "X-GitOps-Delivery"
EVENT = "X-GitOps-Event"


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    body: bytes
    headers: dict[str, str]


def signed(secret: str, delivery: str, type_: str, body: bytes, seconds: int) -> Signed:
    return Signed(
        body=body,
        headers={
            "Content-Type": "application/json",
            "User-Agent": "gitops-webhook/1",
            SIGNATURE: f"t={seconds},v1={signature(secret, body, seconds)}",
            DELIVERY: delivery,
            EVENT: type_,
        },
    )


def signature(secret: str, body: bytes, seconds: int) -> str:
    return hmac.new(secret.encode(), b"%d." % seconds + body, hashlib.sha256).hexdigest()
