"""The OpenAPI document, printed without a service that runs: `python -m service.api.described`.

For what is checked against it: the dashboard's types (web/tests/contract).
"""

from __future__ import annotations

import sys

import msgspec

from service.api.openapi import document
from service.api.routes import table


def main() -> None:
    sys.stdout.write(msgspec.json.encode(document(table())).decode())


if __name__ == "__main__":
    main()
