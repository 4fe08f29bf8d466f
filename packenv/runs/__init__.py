"""Many simulations: made side by side, kept in a log, summarised over seeds, compared on the same jobs, drawn alike.

`runner` makes runs with any executor, `log` keeps the finished ones, `statistics` has means, intervals and ratios, and
`tensorboard` shows runs in TensorBoard. All commands use these.
"""
