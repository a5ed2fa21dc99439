"""Check the subject of a commit: `python -m tests.commit_subject FILE`, as the hook calls it.

A subject is an order of at most 72 characters that begins with a capital and ends without a full
stop; the body, after an empty line, says why.
"""

from __future__ import annotations

import sys
from pathlib import Path

LONGEST = 72


def faults(message: str) -> tuple[str, ...]:
    """What is wrong with a commit message, as sentences; empty where nothing is."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    checks = (
        (bool(subject.strip()), "the subject is empty"),
        (
            len(subject) <= LONGEST,
            f"the subject has {len(subject)} characters, at most {LONGEST} are allowed",
        ),
        (subject[:1] == subject[:1].upper(), "the subject begins with a small letter"),
        (not subject.endswith("."), "the subject ends with a full stop"),
        (len(lines) < 2 or not lines[1].strip(), "the second line is not empty"),
    )
    return tuple(text for holds, text in checks if not holds)


def main() -> int:
    found = faults(Path(sys.argv[1]).read_text())
    for fault in found:
        sys.stderr.write(f"commit message: {fault}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
