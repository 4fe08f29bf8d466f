"""Any policy outside the simulator: `packenv.Scheduler`, and `packenv serve` for schedulers in other languages."""
