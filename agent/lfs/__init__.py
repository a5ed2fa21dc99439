"""The objects of Git LFS, which a Git host keeps beside its repositories."""
