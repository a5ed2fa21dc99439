"""sync: make the live objects equal the desired ones, in Argo CD's order of phases and waves.

`handler` decides whether to sync by itself, `step` carries an operation on. Behind them are pure
decisions: `sync_decision` (may we, must we), `sync_plan` (in which order), `operation` (what next).
"""
