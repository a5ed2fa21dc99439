"""The OpenAPI document, printed without a running service: `python -m service.api.description`.

The dashboard's types are checked against it (web/tests/contract).
"""

from __future__ import annotations

import sys

import msgspec

from service.api.routes import table
from service.http.openapi import document


def main() -> None:
    sys.stdout.write(msgspec.json.encode(document(table())).decode())


if __name__ == "__main__":
    main()
