"""`packenv bench`: the speed of this installation, against one CartPole-v1 environment on the same core."""
