"""Replicas of one agent divide the shards of the keys among them; see docs/adr/0020."""
