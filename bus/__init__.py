"""What can be said in this house, and how it is carried.

The language (identity, status, events, route, verdicts) is pure and imported by every room.
The carrier (envelope, codec, lanes, dispatch, jetstream) is imported by the processes only.
"""
