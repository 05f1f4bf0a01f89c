"""Plays the runner's own decisions under a clock that jumps, and reckons what is to come.

Engine, slots, claims, ledger and consequences are the real ones; runs are imagined, and everything
is kept in this process's memory.
"""
