"""Agents that learn to schedule.

- `settings`: everything a training run depends on.
- `agents`: saved agents as policies of the compiled loop, the guard, and the agents that come with packenv.
- `weighted_sums`, `imitation`, `evolution`: networks, their first weights, and their improvement.
- `training`: a training run with logs, evaluations and checkpoints (`packenv train`).
- `ppo`: the same with an untouched MaskablePPO of sb3-contrib. Other libraries learn on the environments too: `save_model` makes
  their models policies.
"""
