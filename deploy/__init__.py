"""How the agent is installed: the Helm chart, and the kustomize base that is made from it."""
