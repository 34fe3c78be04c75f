"""Engines that compute the exact, secret integers of a plan.

None of them draws noise or sums floats.
"""
