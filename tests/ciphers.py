"""A cipher for tests: the agent's comes from a Secret."""

from agent.store.cipher import Cipher

CIPHER = Cipher(bytes(range(32)))
