"""Numbers with a direction: rationals, intervals, certified balls.

Every room may use them; they know none.
"""
