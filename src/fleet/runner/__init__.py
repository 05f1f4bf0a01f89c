"""The runner decides when, launches keepers and records what came of it; it runs no agent."""
