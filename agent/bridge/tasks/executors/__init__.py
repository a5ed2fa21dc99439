"""Executors: one module for each kind of task, and the parts that several of them share.

A module is named like its kind. agent/bridge/task_wiring.py gives each executor what it uses.
"""
