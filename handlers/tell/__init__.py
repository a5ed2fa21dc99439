"""Tell: what a status write says, kept beside it until it is known to have been told."""
