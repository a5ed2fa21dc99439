"""The deletion of an Application: hooks, cascade, and the finalizers that order them."""
