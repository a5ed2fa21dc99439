"""What is decided: the rooms of the house. Read routes.py first, then the room you came for.

Only files named handler.py and the modules of ports hold `async`; everything else is a pure
function of values.
"""
