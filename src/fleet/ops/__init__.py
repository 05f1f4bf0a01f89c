"""Care of a home by its operator, one module for each word of it; nothing here runs agents."""
