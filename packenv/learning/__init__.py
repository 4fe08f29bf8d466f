"""Agents that learn to schedule: how they are trained, guarded, saved and used as policies.

- `settings`: everything a training run depends on; `loads`: the workload at several loads.
- `agents`: saved agents as policies of the compiled loop, the guard, and the agents that come with packenv. No PyTorch.
- `networks`: the same networks in PyTorch, to be trained.
- `reinforcement`, `evolution`: the two kinds of learner, Stable-Baselines3's algorithms and CMA-ES.
- `training`: a training run with logs, evaluations and checkpoints (`packenv train`).
"""
