"""Real processes killed at bad moments, with servers that misbehave: `make chaos`."""
