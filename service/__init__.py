"""The far end of the bridge: the GitOps service, which knows what its agents tell it and no more.

It holds no credential of any cluster or repository. Everything it shows of them is a projection of
what agents report and can be rebuilt from them; what is its own are accounts, access, tasks and the
audit. It imports the bus's language and nothing else of the agent's side.
"""
