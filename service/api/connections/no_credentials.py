"""The refusal of bodies that carry a credential in clear. Pure.

Names of fields are checked at every depth, and values that speak for themselves: a private key, a
URL with a password. The refusal names the field, never the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from service.http.decode import texts
from service.http.problem import ProblemError

_NAMES = frozenset(
    {
        "password",
        "passwd",
        "pass",
        "passphrase",
        "secret",
        "secretkey",
        "secretaccesskey",
        "sshprivatekey",
        "privatekey",
        "githubappprivatekey",
        "gcpserviceaccountkey",
        "serviceaccountkey",
        "token",
        "accesstoken",
        "bearertoken",
        "authtoken",
        "idtoken",
        "refreshtoken",
        "apikey",
        "apitoken",
        "accesskey",
        "clientsecret",
        "azureserviceprincipalclientsecret",
        "kubeconfig",
        "credential",
        "credentials",
        "keydata",
        "clientkeydata",
        "tlsclientcertkey",
        "tlskey",
        "clientkey",
        "execproviderconfig",
    }
)
_VALUES = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"), "a private key"),
    (re.compile(r"-----BEGIN PGP PRIVATE KEY"), "a private key"),
    (
        re.compile(r"(?<=[a-z0-9+.-])://[^/@\s:]*:[^/@\s]+@", re.IGNORECASE),
        "a URL with a password",
    ),
    (re.compile(r"\b(gh[pousr]_|github_pat_|glpat-|xox[bap]-|g[te]_)[\w-]{16,}"), "a token"),
    (
        # GitHub, GitLab, Bitbucket and registries by prefix; old ones of GitHub and Azure by form.
        re.compile(
            r"(?<=[A-Za-z0-9+.-])://((gh[pousr]_|github_pat_|dckr_pat_|ATBB|ATCTT|ATATT|"
            r"gl(pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-)[^/@\s]*|"
            r"[0-9A-Fa-f]{40}|[a-z2-7]{52}|[A-Za-z0-9]{84})@"
        ),
        "a token as the user of a URL",
    ),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), "an access key"),
)
_REMEDY = (
    "Name a Secret of the agent's cluster in secretRef, or seal the credential to the agent's key "
    "(GET /agents/{id}/sealing-key) and send it as sealed."
)


def check_names_and_values(body: Any) -> None:
    for path in _named(body, ""):
        raise _refused(path, "this field would carry a credential in clear")
    check_values(body)


def check_values(body: Any) -> None:
    """For manifests, whose fields are other people's: only what is a credential for sure."""
    for path, text in texts(body):
        plain = unquote(text)
        for pattern, what in _VALUES:
            if pattern.search(text) or pattern.search(plain):
                raise _refused(path, f"this field carries {what} in clear")


def _named(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, it in value.items():
            here = f"{path}.{key}" if path else str(key)
            plain = re.sub(r"[^a-z0-9]", "", str(key).lower())
            if plain in _NAMES and it not in (None, "", {}, []):
                yield here
            if key not in ("sealed", "secretRef"):
                yield from _named(it, here)
    elif isinstance(value, list):
        for number, it in enumerate(value):
            yield from _named(it, f"{path}[{number}]")


def _refused(path: str, detail: str) -> ProblemError:
    return ProblemError(422, detail, field=path, rule="no-credential-in-clear", remedy=_REMEDY)
