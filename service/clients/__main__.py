"""The files that are generated from the OpenAPI document: `python -m service.clients` writes them.

It runs in the repository; a test fails where one of the files is old.
"""

from __future__ import annotations

from pathlib import Path

from service.api.routes import table
from service.clients.structs import structs
from service.clients.typescript import typescript
from service.http.openapi import document

DASHBOARD = "web/src/api/schema.ts"
COMMAND_LINE = "cli/remote/service_types.py"
_READ_BY_COMMAND_LINE = (
    "AgentSummary",
    "AppProjectDetail",
    "ConnectionSummary",
    "ApplicationDetail",
    "AuditRecord",
    "AuditVerification",
    "DeploymentEntry",
    "DriftEntry",
    "ObjectDiff",
    "TaskSummary",
    "TreeNode",
)
"""The answers that the command line shows to people; with `--json` it prints them as they came."""


def generated_files() -> dict[str, str]:
    """By path in the repository."""
    described = document(table())
    return {
        DASHBOARD: typescript(described),
        COMMAND_LINE: structs(described, _READ_BY_COMMAND_LINE),
    }


def main() -> None:
    for path, text in generated_files().items():
        Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
