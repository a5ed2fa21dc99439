"""The GitOps service: the control plane that agents dial and people look at.

It holds no credential of any cluster or repository. What it shows of clusters is a projection of
what agents report, and can be rebuilt from them; its own are accounts, access, tasks and the audit.
It imports the events and the link protocol of `bus`, and nothing of the agent.
"""
