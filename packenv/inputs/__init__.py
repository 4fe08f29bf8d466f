"""What comes from outside: numbers in text, files of text, JSON, and how much memory reading may take.

Each has one way in, with its limits, so that no reader has to guard against the same damage again.
"""
