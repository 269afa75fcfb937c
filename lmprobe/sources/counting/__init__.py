"""Counts of attributes and tasks in text, on one machine or on a cluster.

Nothing is imported here: worker processes load only the rule and the readers they need.
"""
