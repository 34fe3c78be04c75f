"""Aggregates of SQL, a family a file: what each takes, which exact totals it needs, and how its value follows."""
