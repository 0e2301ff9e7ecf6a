"""Locks in frameworks and monitoring: each module needs the packages of the extra of its name.

``import holdfast`` imports none of them.
"""
