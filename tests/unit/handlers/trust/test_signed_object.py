"""What of a commit and of a tag is signed, and by which text."""

from __future__ import annotations

from handlers.trust.signed_object import signed_commit, signed_tag

SIGNATURE = b"-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----"
HEAD = b"tree 1\nparent 2\nparent 3\nauthor Ada <a@b> 1 +0000\ncommitter Bob <b@b> 1 +0000"
MESSAGE = b"\n\nsubject\n\nbody\n"
HEADER = b"\ngpgsig " + SIGNATURE.replace(b"\n", b"\n ")
TAG = b"object 1\ntype commit\ntag v1\ntagger Tess <t@b> 1 +0000\n\nrelease\n"


def test_all_of_a_commit_but_its_signature_is_signed() -> None:
    found = signed_commit(HEAD + HEADER + b"\nencoding utf-8" + MESSAGE)
    assert found.payload == HEAD + b"\nencoding utf-8" + MESSAGE
    assert found.signature.strip() == SIGNATURE
    assert (found.parents, found.author) == (("2", "3"), "Ada <a@b>")
    assert not found.ambiguous


def test_a_commit_without_a_signature_has_none() -> None:
    found = signed_commit(HEAD + MESSAGE)
    assert (found.payload, found.signature) == (HEAD + MESSAGE, b"")


def test_a_signature_in_a_message_is_text() -> None:
    found = signed_commit(HEAD + MESSAGE + b"gpgsig " + SIGNATURE + b"\nparent 9\n")
    assert (found.signature, found.parents) == (b"", ("2", "3"))


def test_two_signatures_of_one_commit_are_ambiguous() -> None:
    assert signed_commit(HEAD + HEADER + HEADER + MESSAGE).ambiguous


def test_a_seal_is_a_line_of_the_message() -> None:
    assert signed_commit(HEAD + MESSAGE + b"\nargocd-GPG-seal: read\n").is_seal
    assert not signed_commit(HEAD + MESSAGE + b"\nno Argocd-gpg-seal: read\n").is_seal
    assert not signed_commit(HEAD + b"\nArgocd-gpg-seal: x" + MESSAGE).is_seal


def test_everything_before_its_signature_is_signed_of_a_tag() -> None:
    found = signed_tag(TAG + SIGNATURE + b"\n")
    assert (found.payload, found.signature) == (TAG, SIGNATURE + b"\n")
    assert (found.tag, found.author, found.ambiguous) == ("v1", "Tess <t@b>", False)


def test_the_last_signature_of_a_tag_counts() -> None:
    inner = TAG + SIGNATURE + b"\nmore\n"
    found = signed_tag(inner + SIGNATURE)
    assert (found.payload, found.signature) == (inner, SIGNATURE)


def test_a_tag_of_two_names_is_ambiguous() -> None:
    assert signed_tag(TAG.replace(b"tag v1\n", b"tag v1\ntag v2\n")).ambiguous


def test_bytes_that_are_no_object_have_no_signature() -> None:
    for raw in (b"", b"\n\n", b"\xff\x00", b"gpgsig"):
        assert not signed_commit(raw).signature
        assert not signed_tag(raw).signature
