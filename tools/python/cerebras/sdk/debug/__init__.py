"""Looking into a run that is over."""
