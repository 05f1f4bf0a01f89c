"""Care of a home by its operator: check, doctor, verify, reindex; nothing here runs agents."""
