"""The command line: parses, calls one use-case, prints. It decides nothing and stores nothing."""
