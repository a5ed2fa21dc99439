"""Signatures as `cosign sign --key` makes them, by keys of a test."""

from __future__ import annotations

import base64
import json

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from playground.registry import OciRegistry

LAYER = "application/vnd.dev.cosign.simplesigning.v1+json"
ANNOTATION = "dev.cosignproject.cosign/signature"


def signing_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def public_pem(key: ec.EllipticCurvePrivateKey) -> str:
    public = key.public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def payload(digest: str, reference: str = "registry.example/web") -> bytes:
    critical = {
        "identity": {"docker-reference": reference},
        "image": {"docker-manifest-digest": digest},
        "type": "cosign container image signature",
    }
    return json.dumps({"critical": critical, "optional": None}).encode()


def signature(content: bytes, key: ec.EllipticCurvePrivateKey) -> str:
    return base64.b64encode(key.sign(content, ec.ECDSA(SHA256()))).decode()


async def sign(
    registry: OciRegistry,
    name: str,
    digest: str,
    key: ec.EllipticCurvePrivateKey,
    *,
    named: str = "",
) -> None:
    """Put the signature of an artifact beside it; `named` is another digest in what is signed."""
    content = payload(named or digest)
    await registry.push(
        name,
        f"{digest.replace(':', '-')}.sig",
        [(LAYER, content)],
        annotations={ANNOTATION: signature(content, key)},
    )
