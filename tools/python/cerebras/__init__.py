"""The vendor's module names, so that host programs run unchanged; what they do is in the package wafersmith."""
