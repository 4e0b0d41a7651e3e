"""Layouts built in Python: code regions, ports, connections and streams, written as a CSL layout and compiled."""
