"""The catalogue of packenv's policies, with their sources.

The registry, `packenv list`, `packenv.policies`, CITATION.cff and the tables of the policies' page are made from it. It imports
nothing heavy. Policies of other packages are entry points of the group `packenv.policies`.
"""

from __future__ import annotations

from typing import NamedTuple


class Source(NamedTuple):
    """The publication behind a policy or a queue order."""

    authors: str  # "Family, Given; Family, Given; et al."
    title: str
    year: int
    venue: str = ""
    url: str = ""

    @property
    def reference(self) -> str:
        """Return family names, title, venue and year in one line."""
        names = [author.partition(",")[0].strip() for author in self.authors.split(";")]
        people = " ".join(names) if names[-1] == "et al." else ", ".join(names)
        return f"{people}, *{self.title}*, {f'{self.venue} ' if self.venue else ''}{self.year}"


class Entry(NamedTuple):
    """A policy: its class, its source, and its abilities.

    `can` lists its abilities, from these words:

    several   compares demands as vectors (a policy without it compares the largest demand)
    devices   chooses among the GPUs of a server
    gangs     starts the tasks of a gang in the same slot
    jobs      reads a table of jobs: phases, owners, values (a random workload is made into a table first)
    dag       orders tasks by their successors
    data      prefers servers that hold a task's data
    orders    takes another order of the queue (`order=`)
    durations knows how long tasks take, or what the table estimates
    law       uses the law of sizes, or the sizes of the table
    """

    target: str  # module:name below packenv.policies
    source: str = ""  # key of SOURCES, and where in it: "psychas-ghaderi §IV"
    can: str = ""
    guarantee: str = ""  # share of ρ* that a theorem guarantees

    @property
    def module(self) -> str:
        return f"packenv.policies.{self.target.partition(':')[0]}"

    @property
    def name(self) -> str:
        return self.target.partition(":")[2]

    @property
    def path(self) -> str:
        """The entry point's text: `packenv.policies.delay.delay:Delay`."""
        return f"{self.module}:{self.name}"


HALF = "½ if no size is below some u > 0"
TWO_THIRDS = "⅔ if no size is below 2^−J"
ROUNDED = "ρ_K / ρ* of its K types"

CATALOGUE = {
    "bf-js": Entry("random_requirements.best_fit:BestFit", "psychas-ghaderi §IV", "several devices gangs", HALF),
    "bf-j": Entry("random_requirements.best_fit:BestFitJobs", "psychas-ghaderi §IV", "several devices"),
    "bf-s": Entry("random_requirements.best_fit:BestFitServers", "psychas-ghaderi §IV", "several devices"),
    "vqs": Entry("random_requirements.virtual_queues:VQS", "psychas-ghaderi §V", "law", TWO_THIRDS),
    "vqs-bf": Entry(
        "random_requirements.virtual_queues:VQSBestFit", "psychas-ghaderi §VI", "law", f"{TWO_THIRDS}, else (1 − ε) · ⅔"
    ),
    "fifo-ff": Entry("random_requirements.fifo:FifoFirstFit", "psychas-ghaderi", "several devices gangs orders"),
    "slot-fifo": Entry("random_requirements.fifo:SlotFifo", "", "law"),
    "quickswap": Entry(
        "random_requirements.quickswap:Quickswap", "quickswap", "law", "1 for one server, if one of two sizes fills it"
    ),
    "maxweight": Entry("random_requirements.max_weight:MaxWeight", "psychas-ghaderi", "law", "1 if types are the exact sizes"),
    "msr": Entry("throughput_optimal.msr:MSR", "msr", "several law", ROUNDED),
    "kmw": Entry("throughput_optimal.kmw:KMaxWeight", "kmw", "several law", f"{ROUNDED}, with `refresh=weight`"),
    "pairing": Entry("rules.rule:Pairing", "", "several devices"),
    "easy": Entry("backfilling.backfilling:Easy", "easy", "several devices gangs orders durations"),
    "conservative": Entry("backfilling.backfilling:Conservative", "conservative", "several devices gangs orders durations"),
    "reserve": Entry("backfilling.reserve:Reserve", "", "several devices gangs"),
    "tetris": Entry("tetris.tetris:Tetris", "tetris §3", "several jobs data durations"),
    "drf": Entry("tetris.fair:DRF", "tetris", "several jobs"),
    "slot-fair": Entry("tetris.fair:SlotFair", "tetris", "several jobs"),
    "task-fair": Entry("tetris.fair:TaskFair", "tetris", "several jobs"),
    "price": Entry("price.price:Price", "price §3.3", "several jobs durations"),
    "priority": Entry("price.job_order:Priority", "price §4.2", "several jobs"),
    "capacity": Entry("price.job_order:SmallestDemand", "price §4.2", "several jobs"),
    "fifo": Entry("price.job_order:JobFifo", "price §4.2", "several jobs"),
    "sat": Entry("replay:Sat", "price", "several jobs durations"),
    "critical-path": Entry("whole_jobs.srpt:CriticalPath", "graham", "several jobs dag durations"),
    "most-work": Entry("whole_jobs.srpt:MostWork", "graham", "several jobs dag durations"),
    "srpt": Entry("whole_jobs.srpt:ShortestRemaining", "decima §7.1", "several jobs dag durations"),
    "graphene": Entry("whole_jobs.srpt:Graphene", "graphene", "several jobs dag durations"),
    "weighted-fair": Entry("whole_jobs.weighted_fair:WeightedFair", "decima §7.1", "several jobs dag durations"),
    "delay": Entry("delay.delay:Delay", "delay", "several jobs data"),
    "delay-dynamic": Entry("delay.delay:DelayDynamic", "", "several jobs data"),
    "fair": Entry("delay.delay:Fair", "delay", "several jobs data"),
    "sparrow": Entry("eagle.hawk:Sparrow", "eagle", "several jobs durations"),
    "hawk": Entry("eagle.hawk:Hawk", "hawk", "several jobs durations"),
    "eagle": Entry("eagle.hawk:Eagle", "eagle", "several jobs durations"),
    "lwl": Entry("eagle.hawk:LeastWaitingTime", "eagle", "several jobs durations"),
    "yaq": Entry("eagle.hawk:Yaq", "eagle", "several jobs durations"),
    "fgd": Entry("gpus.policies:Fgd", "fgd", "several devices jobs"),
    "gpu-best-fit": Entry("gpus.policies:GpuBestFit", "fgd", "several devices jobs"),
    "dot-product": Entry("gpus.policies:DotProduct", "fgd", "several devices jobs"),
    "gpu-packing": Entry("gpus.policies:GpuPacking", "fgd", "several devices jobs"),
    "gpu-clustering": Entry("gpus.policies:GpuClustering", "fgd", "several devices jobs"),
    "random": Entry("gpus.policies:RandomServer", "fgd", "several devices jobs"),
}
"""Policies by name, in the order of the tables: theory first, then practice, jobs, data, probes and GPUs."""

OF_FILES = {
    "agent": "packenv.learning.agents.saved:find_agent",
    "optimal": "packenv.policies.optimal:find_optimal",
    "replay": "packenv.policies.replay:find_replay",
}
"""Policies that are read from the file that stands behind their name."""

ORDER_SOURCES = {"f1 to f4": "f-orders", "wfp3 and unicef": "wfp3"}
"""Orders of a queue (`packenv.policies.orders`) that come from a publication."""

SOURCES = {
    "psychas-ghaderi": Source(
        "Psychas, Konstantinos; Ghaderi, Javad",
        "Scheduling Jobs with Random Resource Requirements in Computing Clusters",
        2019,
        "arXiv",
        "https://arxiv.org/abs/1901.05998",
    ),
    "quickswap": Source(
        "Chen, Zhongrui; et al.",
        "Improving nonpreemptive multiserver job scheduling with Quickswap",
        2025,
        "arXiv",
        "https://arxiv.org/abs/2509.01893",
    ),
    "msr": Source(
        "Chen, Zhongrui; Grosof, Isaac; Berg, Benjamin",
        "Improving Multiresource Job Scheduling with Markovian Service Rate Policies",
        2025,
        "arXiv",
        "https://arxiv.org/abs/2412.08915",
    ),
    "kmw": Source(
        "Yao, Heyuan; Kowalik, Willow; Grosof, Izzy",
        "Throughput-Optimal Multiresource-Job Scheduling with Continuous Requirement Distribution",
        2026,
        "arXiv",
        "https://arxiv.org/abs/2605.21715",
    ),
    "easy": Source("Lifka, David A.", "The ANL/IBM SP scheduling system", 1995, "JSSPP"),
    "conservative": Source(
        "Mu'alem, Ahuva W.; Feitelson, Dror G.",
        "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling",
        2001,
        "IEEE TPDS",
    ),
    "tetris": Source("Grandl, Robert; et al.", "Multi-resource packing for cluster schedulers", 2014, "SIGCOMM"),
    "price": Source(
        "Zhang, Sheng; Yao, Jianguo",
        "Multi-resource scheduling with consideration of differential services in multi-tenant sharing",
        2016,
    ),
    "graham": Source(
        "Graham, Ronald L.", "Bounds on multiprocessing timing anomalies", 1969, "SIAM Journal on Applied Mathematics"
    ),
    "decima": Source("Mao, Hongzi; et al.", "Learning scheduling algorithms for data processing clusters", 2019, "SIGCOMM"),
    "graphene": Source(
        "Grandl, Robert; et al.",
        "Graphene: packing and dependency-aware scheduling for data-parallel clusters",
        2016,
        "OSDI",
    ),
    "delay": Source(
        "Zaharia, Matei; et al.",
        "Delay scheduling: a simple technique for achieving locality and fairness in cluster scheduling",
        2010,
        "EuroSys",
    ),
    "eagle": Source("Delgado, Pamela; et al.", "Job-aware scheduling in Eagle: divide and stick to your probes", 2016, "SoCC"),
    "hawk": Source("Delgado, Pamela; et al.", "Hawk: hybrid datacenter scheduling", 2015, "USENIX ATC"),
    "fgd": Source(
        "Weng, Qizhen; et al.",
        "Beware of fragmentation: scheduling GPU-sharing workloads with fragmentation gradient descent",
        2023,
        "USENIX ATC",
    ),
    "f-orders": Source(
        "Carastan-Santos, Danilo; de Camargo, Raphael Y.",
        "Obtaining dynamic scheduling policies with simulation and machine learning",
        2017,
        "SC",
    ),
    "wfp3": Source("Tang, Wei; et al.", "Fault-aware, utility-based job scheduling on Blue Gene/P systems", 2009, "IEEE Cluster"),
}
