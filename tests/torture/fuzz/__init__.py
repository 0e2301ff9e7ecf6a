"""Fuzzers of everything that is parsed from outside, and what runs them."""
