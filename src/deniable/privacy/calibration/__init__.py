"""The setting of a mechanism that keeps a promise."""
