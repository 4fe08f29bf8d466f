"""Runs: made in parallel, logged, measured, and compared on the same jobs.

`runner` makes runs with any executor, `log` stores the finished ones, `measures` has a row for each number. `statistics` has
means, intervals and ratios, and `tensorboard` shows runs in TensorBoard. All commands use these.
"""
