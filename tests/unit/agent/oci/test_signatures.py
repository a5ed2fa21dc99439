"""Payloads of cosign, and who has signed them."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from agent.oci.signatures import is_signed, names
from tests.cosign import payload, public_pem, signature, signing_key

DIGEST = "sha256:" + "1" * 64
KEY, OTHER = signing_key(), signing_key()
PAYLOAD = payload(DIGEST)


def test_one_of_the_keys_has_signed() -> None:
    made = signature(PAYLOAD, KEY)
    assert is_signed(PAYLOAD, made, (public_pem(OTHER), public_pem(KEY)))
    assert not is_signed(PAYLOAD, made, (public_pem(OTHER),))
    assert not is_signed(PAYLOAD, made, ())
    assert not is_signed(PAYLOAD + b" ", made, (public_pem(KEY),))


@pytest.mark.parametrize("made", ["", "?", base64.b64encode(b"x").decode(), "é"])
def test_what_is_no_signature_proves_nothing(made: str) -> None:
    assert not is_signed(PAYLOAD, made, (public_pem(KEY),))


def test_a_key_of_another_kind_has_signed_nothing() -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    pem = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert not is_signed(PAYLOAD, signature(PAYLOAD, KEY), (pem, "no key"))
    curve = ec.generate_private_key(ec.SECP384R1())
    assert not is_signed(PAYLOAD, signature(PAYLOAD, curve), (public_pem(curve),))


@pytest.mark.parametrize(
    "content",
    [
        payload("sha256:" + "2" * 64),
        PAYLOAD.replace(b"cosign container image signature", b"other"),
        b"{}",
        b"[" * 10_000,
        b"\xff",
    ],
)
def test_a_payload_that_does_not_name_the_artifact_counts_for_nothing(content: bytes) -> None:
    assert names(PAYLOAD, DIGEST)
    assert not names(content, DIGEST)
