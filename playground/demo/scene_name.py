"""SceneName is what the demo can be asked to play; imported also where nothing is played."""

from enum import StrEnum


class SceneName(StrEnum):
    PUSH = "push"
    CLUSTERS = "clusters"
    SOURCES = "sources"
