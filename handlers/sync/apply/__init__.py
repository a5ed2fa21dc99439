"""Carrying out one step of an operation."""
