"""hydrate: render the dry sources of a branch's Applications, and commit what differs."""
