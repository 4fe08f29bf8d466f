"""Many simulations: made side by side, kept in a log, measured, summarised over seeds, compared on the same jobs.

`runner` makes runs with any executor, `log` keeps the finished ones, `measures` has a row for each number, `statistics` means,
intervals and ratios, and `tensorboard` shows runs in TensorBoard. All commands use these.
"""
