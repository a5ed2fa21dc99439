"""`python -m playground.go ARGUMENTS`: Go, wherever it is; fetched where there is none."""

from __future__ import annotations

import os
import sys

from playground.toolchain import ToolMissingError, find_go


def main() -> None:
    try:
        go = find_go()
    except ToolMissingError as error:
        sys.exit(str(error))
    os.execv(go, ("go", *sys.argv[1:]))  # noqa: S606  become it: its exit code is ours


if __name__ == "__main__":
    main()
