"""Deployments beyond one server: Sentinel, Cluster, replicas, TLS, rights."""
