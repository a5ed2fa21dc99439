"""Encrypted files for tests, their keys, and what is in them; see the README beside them."""

from pathlib import Path

FOLDER = Path(__file__).parent
PASSWORD = "canary-71f0c2d58e9a4b36"
URL = "https://canary-c0ffee5d21b7@db.example"
PIN = "pin4711"
"""Too short to be searched for in texts."""
SECRET = (FOLDER / "secret.yaml").read_text()
SECOND = (FOLDER / "second.yaml").read_text()
CONFIG = (FOLDER / "config.yaml").read_text()
BOTH = (FOLDER / "both.yaml").read_text()
FIRST_KEY = (FOLDER / "first.agekey").read_text()
SECOND_KEY = (FOLDER / "second.agekey").read_text()
