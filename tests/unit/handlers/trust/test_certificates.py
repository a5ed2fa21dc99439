"""Certificates and known hosts: what is told of them, and how lines are merged and taken out."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from handlers.trust.hosts import FIELD, known_hosts, tls_certificates, with_lines, without
from tests.unit.handlers.trust.samples import SSH_FINGERPRINT, SSH_KEY, certificate, other_ssh_key

HASHED = "|1|Rz0vMjrYGVUgcmF8xqTnlJ6RRpA=|q0qpYxYkXHrJHG0HvJpNyS5Vd0E="


def test_a_certificate_is_told_by_subject_fingerprint_and_end() -> None:
    bundle = certificate("git.example", until=2040) + certificate("ca.example", until=2030)
    (found,) = tls_certificates({"git.example": bundle})
    assert (found.name, found.server_name) == ("https:git.example", "git.example")
    assert (found.type, found.sub_type, found.info) == ("https", "ed25519", "CN=git.example")
    assert found.fingerprint.startswith("SHA256:")
    assert found.expires_at.startswith("2030-01-01")


def private_key() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize("pem", ["", "text", private_key()], ids=["empty", "text", "private key"])
def test_what_is_no_certificate_has_a_problem_that_quotes_nothing(pem: str) -> None:
    (found,) = tls_certificates({"git.example": pem})
    assert found.problem == "no certificate (PEM) that can be read"
    assert (found.fingerprint, found.info) == ("", "")


def test_a_known_host_is_told_as_ssh_keygen_does() -> None:
    text = f"# hosts\n\ngit.example,10.0.0.1 {SSH_KEY} a comment\n@revoked old.example {SSH_KEY}\n"
    found = {one.server_name: one for one in known_hosts({FIELD: text})}
    one = found["git.example,10.0.0.1"]
    assert (one.type, one.sub_type) == ("ssh", "ssh-ed25519")
    assert one.fingerprint == SSH_FINGERPRINT
    assert found["old.example"].info == "revoked"


@pytest.mark.parametrize(
    "line",
    ["git.example", f"git.example {SSH_KEY[:30]}", "git.example ssh-ed25519 ***", "@revoked"],
)
def test_what_is_no_line_of_known_hosts_is_passed_over(line: str) -> None:
    assert list(known_hosts({FIELD: line})) == []


def test_hashed_hosts_have_names_without_slashes() -> None:
    (found,) = known_hosts({FIELD: f"{HASHED} {SSH_KEY}"})
    assert found.server_name == "(hashed)"
    assert "/" not in found.name


def test_a_new_key_replaces_the_one_of_its_type_and_leaves_the_rest() -> None:
    rsa = other_ssh_key("ssh-rsa")
    before = f"# ours\ngit.example {SSH_KEY}\ngit.example {rsa}\nother.example {SSH_KEY}\n"
    after = with_lines(before, f"git.example {other_ssh_key()}\n")
    assert after.splitlines() == [
        "# ours",
        f"git.example {rsa}",
        f"other.example {SSH_KEY}",
        f"git.example {other_ssh_key()}",
    ]


@pytest.mark.parametrize("added", ["", "# nothing", f"git.example {SSH_KEY}\nnonsense"])
def test_what_cannot_be_read_is_not_added(added: str) -> None:
    with pytest.raises(ValueError, match="known_hosts"):
        with_lines("", added)


def test_a_host_is_taken_out_by_the_name_it_is_listed_under() -> None:
    before = f"git.example {SSH_KEY}\n{HASHED} {SSH_KEY}\n"
    for one in known_hosts({FIELD: before}):
        (left,) = known_hosts({FIELD: without(before, one.name)})
        assert left.name != one.name
    assert without(before, "ssh:unknown:ssh-rsa") == before
