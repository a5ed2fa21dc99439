"""health: assess single objects by rules of their kinds, and sum them up for an Application."""
