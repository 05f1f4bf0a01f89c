"""fleet: coordination for agents that wake on a schedule, in plain files."""

__version__ = "0.1.0"
