"""Desired x live -> drift."""
