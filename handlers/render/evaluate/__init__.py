"""Evaluating a revision: the part of a render that remembers nothing."""
