"""refresh: look at a repository again, and ask for the Applications that a new commit touches."""
