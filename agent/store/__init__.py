"""The agent's stores: Applications and Secrets of the cluster, artifacts and renders."""
