"""Agents that learn to schedule: how they are trained, guarded, saved and used as policies.

- `settings`: everything a training run depends on.
- `agents`: saved agents as policies of the compiled loop, the guard, and the agents that come with packenv.
- `weighted_sums`, `imitation`, `evolution`: what is trained, where it begins, and how it gets better.
- `training`: a training run with logs, evaluations and checkpoints (`packenv train`).
- `ppo`: the same with an untouched MaskablePPO of sb3-contrib. Other libraries learn on the environments too: `save_model` makes
  a policy of what they learned.
"""
