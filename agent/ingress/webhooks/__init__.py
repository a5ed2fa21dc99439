"""One pure parser per Git host; what they have in common is a Push."""
