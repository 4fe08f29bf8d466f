"""How good a policy is that a machine wrote: a score with an interval, from runs in which the policy's process knows nothing."""
