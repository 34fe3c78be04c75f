"""Composition: losses that become one by runs, groups, parts, mixtures or tuning."""
