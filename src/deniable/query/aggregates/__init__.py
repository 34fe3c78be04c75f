"""Aggregates of SQL, a family a file.

Each says what it takes, which exact totals it needs, and how its value follows.
"""
