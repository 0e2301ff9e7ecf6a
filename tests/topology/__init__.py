"""Deployments of several servers: Sentinel."""
