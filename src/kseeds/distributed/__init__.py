"""Seeding data that lives in partitions: the rounds, and the engines that run them."""
