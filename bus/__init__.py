"""The bus defines the typed events of agent and service, and carries them over NATS.

The language (identity, status, events, route) is pure and imported by every handler.
The carrier (envelope, codec, lanes, dispatch, jetstream) is imported by the processes only.
"""
