"""Report: facts and states -> what may leave the house, in the words of bus/link."""
