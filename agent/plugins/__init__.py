"""Config management plugins: sidecars of the agent, asked over their sockets."""
