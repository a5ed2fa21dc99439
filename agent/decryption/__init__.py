"""Decryption of what SOPS has encrypted in Git, by a Go program of its own, a process a call."""
