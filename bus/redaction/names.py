"""Sensitive names: whether what stands below a field, variable, flag or key is a secret. Pure.

A name is split into words (camelCase, snake_case, kebab-case, dots) and judged by stems, so that
`passwords`, `secretValue` and `DB_ROOT_PASSWORD` are all found. Its last word may say that it names
or describes a secret instead of holding one: `secretName`, `tokenReview`, `PASSWORD_FILE`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache


def words_of(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST = 256
_STEMS = re.compile(
    "password|passwd|passwort|passphrase|passcode|secret|token|credential|authorization|bearer"
    "|kubeconfig|connectionstring|dockerconfig|dockercfg|mnemonic|seedphrase|cookie|privkey"
    "|keydata|keymaterial|passin|passout"
    "|(?:api|access|private|auth|signing|signature|encryption|encrypt|decryption|decrypt|master"
    "|client|shared|account|storage|ssh|deploy|service|license|licence|session|webhook|hmac|rsa|tls"
    "|security|root|recovery|unseal|cookie|app|application|integration|ingest|write"
    "|symmetric|aes|pem)keys?(?!board|space|word|stone|note|pad|ring)"
)
_WORDS = words_of(
    """
    pass pwd pw psk otp totp jwt dsn cred creds salt auths
    """
)
_ORDINARY_PASS = ("bypass", "compass", "surpass", "trespass", "overpass", "underpass")
_HARMLESS_LAST = words_of(
    """
    name names ref refs reference references policy policies review reviews request requests
    type types kind kinds path paths file files filename dir directory mount mounts ttl expiry
    expires expiration expire seconds second minutes minute hours hour days day length count
    counts size limit limits enabled enable disabled required optional rotation period interval
    url urls uri uris endpoint endpoints host port audience audiences issuer store stores class
    classes provider providers format namespace namespaces selector version versions revision
    generation age timeout algorithm alg strength encoding label labels description title prefix
    suffix usage status state at time timestamp date by mode method scheme controller operator
    manager driver csi syncer injector checksum sum digest role roles resource resources server
    id ids count used total domain secure samesite webhook webhooks
    """
)
_HARMLESS_FIRST = frozenset({"max", "min", "num", "total", "checksum", "automount"})
_HARMLESS = words_of(
    """
    tokenizer tokenizers tokenize tokenization tokenized secretary secretariat secretless
    passwordless existingsecret existingsecrets pullsecret pullsecrets imagepullsecret
    imagepullsecrets createsecret usesecret externalsecret externalsecrets sealedsecret
    sealedsecrets secretsmanager
    """
)
_NOT_HARMLESS = ("secretid", "passwordhash")


@lru_cache(maxsize=8192)
def is_sensitive(name: str) -> bool:
    """Tell whether the value under `name` is a secret, and not a word about one."""
    domain, _, last = name[:_LONGEST].rpartition("/")
    plain = unicodedata.normalize("NFKC", last if "." in domain else name[:_LONGEST])
    words = [word.lower() for word in _WORD.findall(plain)]
    joined = "".join(words)
    if not (_STEMS.search(joined) or any(_is_short_stem(word) for word in words)):
        return False
    if joined.endswith(_NOT_HARMLESS):
        return True
    return not _is_harmless(words, joined) and "checksum" not in name


def is_sensitive_path(path: str) -> bool:
    """Tell the same of a JSON pointer (`/data/password`) or of a field path (`spec.a["b"].c`)."""
    if path.startswith(("/data/", "/stringData/", "/binaryData/")):
        return True
    return any(is_sensitive(step) for step in re.split(r"[/.\[\]\"=,]+", path[:_LONGEST]))


def _is_short_stem(word: str) -> bool:
    if word in _WORDS:
        return True
    return len(word) > len("pass") and word.endswith("pass") and not word.endswith(_ORDINARY_PASS)


def _is_harmless(words: list[str], joined: str) -> bool:
    if words[-1].isdigit():  # `password2` is a password, `tokenV2Name1` is rare enough
        return False
    return words[-1] in _HARMLESS_LAST or words[0] in _HARMLESS_FIRST or joined in _HARMLESS
