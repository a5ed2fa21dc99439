"""Tasks for agents, as the areas of the API submit them and wait for their answers.

This package has no endpoints of its own: applications and connections are built on it.
"""
