"""What the agent remembers: Applications and settings (in the cluster), artifacts and renders (caches)."""
