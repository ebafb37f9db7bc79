"""Seeding data that lives in partitions: the rounds, and the backends that run them."""
