"""actions: what a person may do to a live object, as values; each is a change of that object."""
