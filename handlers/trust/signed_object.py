"""Signed objects: what of a commit or an annotated tag is signed, and by which text. Pure.

A commit carries its signature in the header `gpgsig`; signed is everything else, byte for byte. A
tag carries it at the end of its message; signed is everything before. Git's own rules:
https://git-scm.com/docs/gitformat-signature. Anybody may write anything into either, so whatever
has two readings (two signatures in one commit) has no signature that counts.
"""

from __future__ import annotations

import re

import msgspec

BEGIN_PGP = b"-----BEGIN PGP SIGNATURE-----"
BEGIN_SSH = b"-----BEGIN SSH SIGNATURE-----"
_HEADER = b"gpgsig "
_SEAL = re.compile(rb"^argocd-gpg-seal:", re.IGNORECASE | re.MULTILINE)
_BEGINS = re.compile(rb"^-----BEGIN (?:PGP|SSH) SIGNATURE-----", re.MULTILINE)
_LONGEST_NAME = 200


class SignedObject(msgspec.Struct, frozen=True, kw_only=True):
    payload: bytes
    signature: bytes
    """Empty where there is none."""
    ambiguous: bool = False
    """Whether the object has several signatures."""
    author: str = ""
    """The author's name of a commit, the tagger's of a tag."""
    tag: str = ""
    """The name under which a tag was made."""
    parents: tuple[str, ...] = ()
    is_seal: bool = False
    """Whether nobody has to look behind this commit, as its trailer `Argocd-gpg-seal` says."""


def signed_commit(raw: bytes) -> SignedObject:
    """Take a commit object apart."""
    head, blank, message = raw.partition(b"\n\n")
    kept: list[bytes] = []
    signatures: list[list[bytes]] = []
    is_inside = False
    for line in head.split(b"\n"):
        if line.startswith(_HEADER):
            signatures.append([line.removeprefix(_HEADER)])
            is_inside = True
        elif is_inside and line.startswith(b" "):
            signatures[-1].append(line[1:])
        else:
            kept.append(line)
            is_inside = False
    return SignedObject(
        payload=b"\n".join(kept) + blank + message,
        signature=b"\n".join(signatures[0]) + b"\n" if signatures else b"",
        ambiguous=len(signatures) > 1,
        author=_name(kept, b"author "),
        parents=tuple(
            line.removeprefix(b"parent ").decode("ascii", "replace")
            for line in kept
            if line.startswith(b"parent ")
        ),
        is_seal=_SEAL.search(message) is not None,
    )


def signed_tag(raw: bytes) -> SignedObject:
    """Take a tag object apart; the last signature in it is the one that counts, as Git has it."""
    begins = [found.start() for found in _BEGINS.finditer(raw)]
    end = begins[-1] if begins else len(raw)
    head = raw.partition(b"\n\n")[0].split(b"\n")
    names = [line.removeprefix(b"tag ") for line in head if line.startswith(b"tag ")]
    return SignedObject(
        payload=raw[:end],
        signature=raw[end:],
        ambiguous=len(names) != 1,
        author=_name(head, b"tagger "),
        tag=names[0].decode("utf-8", "replace") if names else "",
    )


def _name(head: list[bytes], header: bytes) -> str:
    """The first person of a kind, with the mail address, without the time; cut to size."""
    found = next((line for line in head if line.startswith(header)), header)
    person, closing, _ = found.removeprefix(header)[: 2 * _LONGEST_NAME].rpartition(b">")
    return (person + closing).decode("utf-8", "replace")[:_LONGEST_NAME]
