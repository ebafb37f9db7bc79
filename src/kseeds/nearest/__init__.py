"""Every row against a batch of centres: one interface, one strategy a file."""
