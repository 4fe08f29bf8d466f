"""A toy environment, to test that a new one is a folder and one line: start the oldest waiting task, or wait."""
