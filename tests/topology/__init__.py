"""Deployments of several servers: Sentinel and Cluster."""
