"""The renderer asks the sandbox for the objects of a recipe; it has the files of a commit."""
