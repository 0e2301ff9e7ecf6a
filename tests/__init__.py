"""Holdfast's tests; see the README of each folder for what it promises."""
