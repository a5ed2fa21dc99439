"""TLS as a client of servers that Secrets of repositories are for."""

from __future__ import annotations

import ssl

from agent.git.credential_files import credential_files


def tls_context(
    authority: str, *, insecure: bool = False, certificate: str = "", key: str = ""
) -> ssl.SSLContext:
    """Make the context; the texts are PEM. Blocking: reads certificates.

    `authority`: whom the server is trusted by; empty: those of this machine. `insecure`: the server
    is not verified. `certificate` and `key`: with which we introduce ourselves.
    """
    context = ssl.create_default_context(cadata=authority or None)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        with credential_files({"certificate": certificate, "key": key}) as shown:
            context.load_cert_chain(shown.certificate, shown.key)
    return context
