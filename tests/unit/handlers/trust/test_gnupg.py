"""Public keys are described as gpg describes them; nothing that is private is shown."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.trust.gnupg import gnupg_keys, public_key
from tests.unit.handlers.trust.samples import ED25519, ED25519_ID, RSA, RSA_ID


@pytest.mark.parametrize(
    ("armoured", "key_id", "fingerprint", "algorithm", "owner"),
    [
        (
            ED25519,
            ED25519_ID,
            "989041481EE70DF103828BF273C06D3F1C944386",
            "ed25519",
            "Release Robot (ed25519)",
        ),
        (
            RSA,
            RSA_ID,
            "4AD0BF7FEBD408157D889A6DAEE1F44E0A77ED42",
            "rsa1024",
            "Release Robot (rsa1024)",
        ),
    ],
    ids=["ed25519", "rsa"],
)
def test_a_key_is_described_as_gpg_does(
    armoured: str, key_id: str, fingerprint: str, algorithm: str, owner: str
) -> None:
    (found,) = gnupg_keys({key_id: armoured})
    assert (found.name, found.key_id, found.problem) == (key_id, key_id, "")
    assert (found.fingerprint, found.type, found.info) == (fingerprint, algorithm, owner)


def test_headers_and_line_ends_of_the_armour_do_not_matter() -> None:
    written = ED25519.replace("BLOCK-----\n\n", "BLOCK-----\nVersion: GnuPG v2\nComment: a\n\n", 1)
    assert public_key(written.replace("\n", "\r\n")) == public_key(ED25519)


def test_a_key_under_the_name_of_another_is_told_as_a_problem() -> None:
    (found,) = gnupg_keys({RSA_ID: ED25519})
    assert found.problem == f"it is the key {ED25519_ID}"


def as_private(armoured: str) -> str:
    """The same packets, the first of them said to be a private key."""
    head, _, rest = armoured.partition("\n\n")
    body, _, tail = rest.partition("\n=")
    raw = bytearray(base64.b64decode(body))
    raw[0] = 0x94
    return f"{head}\n\n{base64.b64encode(raw).decode()}\n={tail}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just text",
        ED25519.replace("PUBLIC", "PRIVATE"),
        as_private(ED25519),
        ED25519[:200] + "\n-----END PGP PUBLIC KEY BLOCK-----",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----" + "\n" * 100_000,
    ],
    ids=["empty", "text", "private", "private inside", "cut off", "without end"],
)
def test_what_is_no_public_key_has_a_problem_and_nothing_else(text: str) -> None:
    (found,) = gnupg_keys({"AAAA": text})
    assert found.problem
    assert (found.fingerprint, found.info, found.type) == ("", "", "")


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_fail_otherwise(raw: bytes) -> None:
    body = base64.b64encode(raw).decode()
    text = f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{body}\n-----END PGP PUBLIC KEY BLOCK-----"
    assert len(list(gnupg_keys({"AAAA": text}))) == 1
