"""How agent and control plane are installed: Helm charts, and kustomize bases made from them."""
