"""What runs the code: the door to the compiler, threads, memory maps, progress, block sizes."""
