"""Tests of the project itself: its layers, its build, its package, its words."""
