"""Deleting an Application together with what it deployed."""
