"""What the agent remembers: Applications and Secrets from the cluster, artifacts and renders."""
