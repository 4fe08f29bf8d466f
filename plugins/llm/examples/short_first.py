"""Short prompts first, with age, and spare blocks for running requests: a compromise.

Less age lowers the mean time to the first token, and raises its 99th percentile.
"""

from math import ceil, floor

AGE = 0.05  # a request gains this share of the tokens that the replica has computed since it arrived
SPARE = 0.01  # share of the blocks that stay free while something runs


def order(request, replica):
    """The smallest value is admitted first."""
    return request.known - AGE * request.passed


def admit(request, replica):
    """Above 0: admitted."""
    spare = floor(SPARE * (replica.blocks + 1)) if replica.running > 0 else 0
    return replica.free - spare - ceil(request.known / replica.block) + 0.5
