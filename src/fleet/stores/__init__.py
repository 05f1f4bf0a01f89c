"""The engines behind the storage port, one module or package each; nothing is imported here."""
