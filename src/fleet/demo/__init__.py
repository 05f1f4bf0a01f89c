"""The demo: the growth fleet in a temporary home, its agents played by a labelled stand-in."""
