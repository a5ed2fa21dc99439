"""Reading the world of an application, for every room that decides about it."""
