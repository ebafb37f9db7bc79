"""Seeding of data in partitions: the driver, the tasks of a partition, and the backends."""
