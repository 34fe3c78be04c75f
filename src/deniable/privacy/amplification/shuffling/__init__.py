"""Amplification by shuffling: local reports without their senders."""
