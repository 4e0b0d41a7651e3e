"""Host programs' modules."""
