"""What the agent remembers: Applications and Secrets (the cluster's), artifacts and renders (caches)."""
