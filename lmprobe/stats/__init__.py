"""Intervals, tests and plans: everything about a number that is uncertain."""

REMOVED = {
    "hoeffding": '"exact" or "betting", for a probe "bernstein"',
    "stratified": '"exact" or "betting"',
    "stratified-bernstein": '"exact" or "betting"',
    "empirical-bernstein": '"betting", for a probe "bernstein"',
    "bootstrap-percentile": '"bootstrap"',
    "bootstrap-bca": '"bootstrap"',
    "t-crossed": '"bootstrap", which takes both templates and tasks as samples',
}
"""Methods of earlier versions, and what to use in their place."""
