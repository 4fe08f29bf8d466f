"""Three small Minari datasets on `packenv/ServerFill-v1`: best fit, the shipped agent, random valid actions on the same jobs.

    python experiments/offline_datasets.py --out datasets    # new folders fig4b-bf-js-v0, fig4b-agent-v0, fig4b-random-v0

Prints the table of docs/how_to/offline_data.md: scores are Minari's, 0 for random valid actions and 1 for best fit. With
`--quick` two short episodes each.
"""

from collections.abc import Sequence

import gymnasium

from experiments.script_options import options_of
from packenv.envs.registration import id_of
from packenv.runs.recording import BEST, RANDOM, record

DATASETS = {"bf-js": "bf-js", "agent": "agent:fig4b", "random": RANDOM}
EPISODES, HORIZON, INTENSITY = 40, 2000, 0.9
QUICK_EPISODES, QUICK_HORIZON = 2, 200


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    episodes, horizon = (QUICK_EPISODES, QUICK_HORIZON) if options.quick else (EPISODES, HORIZON)
    env = gymnasium.make(id_of("ServerFill"), workload="paper/fig4b", intensity=INTENSITY, horizon=horizon)
    print("| dataset | policy | episodes | steps | mean return | score |\n|---|---|--:|--:|--:|--:|")
    for name, policy in DATASETS.items():
        folder = options.folder / f"fig4b-{name}-v0"
        dataset = record(env, policy, folder, range(episodes))
        low, high = dataset.reference_scores[RANDOM], dataset.reference_scores[BEST]
        score = (dataset.mean_return - low) / (high - low)
        numbers = f"{dataset.steps:,} | {dataset.mean_return:.3f} | {score:.3f}"
        print(f"| `{folder.name}` | `{policy}` | {dataset.episodes} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
