"""May we sync, must we, in which order, and how far are we: decisions about operations."""
