"""The room that takes the next step of an operation."""
