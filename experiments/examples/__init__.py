"""Complete examples, used by the README and run by its test."""
