"""Small hand-made traces in the formats of the real ones; no row of them is real."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CASES = Path(__file__).parents[2] / "cases"
"""Files such as people have, each with a right answer that a test says."""

# time µs, missing, job, task, machine, event, user, class, priority, cpu, memory, disk, different machines
EVENTS = [
    "0,2,7,0,55,0,u,1,9,,,,",  # in the snapshot, its requests known only later
    "0,2,7,0,55,1,u,1,9,,,,",
    "0,,7,1,56,0,u,1,9,0.5,0.25,0.001,0",
    "1000000,,8,1,,0,u,0,2,0.125,0.25,0.001,0",  # the first that is kept
    "1000000,,8,0,,0,u,0,2,0.125,0.25,0.001,0",  # the same time, the lower index
    "1250000,,8,0,55,1,u,0,2,0.125,0.25,0.001,0",
    "1250000,,8,1,56,1,u,0,2,0.125,0.25,0.001,0",
    "1349999,,7,0,55,7,u,1,9,0.375,0.5,0.001,0",
    "1350000,,8,1,56,4,u,0,2,0.125,0.25,0.001,0",  # exactly 1 slot of 0.1 s
    "1350001,,8,0,55,4,u,0,2,0.125,0.25,0.001,0",  # a microsecond more: 2 slots
    "1400000,,9,0,,0,u,0,0,0.3,0.1,0.001,0",
    "1450000,,9,0,55,1,u,0,0,0.3,0.1,0.001,0",
]
MORE_EVENTS = [
    "1500000,,9,0,55,2,u,0,0,0.3,0.1,0.001,0",  # evicted, submitted and started again: the last start counts
    "1500000,,9,0,,0,u,0,0,0.3,0.1,0.001,0",
    "1600000,,9,0,56,1,u,0,0,0.7,0.1,0.001,0",  # and the first request
    "1700000,,10,0,,0,u,0,0,0.2,0.1,0.001,0",  # never started
    "1800000,,11,0,,0,u,0,0,0.2,0.1,0.001,0",
    "1800000,,11,0,55,1,u,0,0,0.2,0.1,0.001,0",
    "1800000,,11,0,55,4,u,0,0,0.2,0.1,0.001,0",  # no duration
    "1900000,,12,0,,0,u,0,0,0,0,0.001,0",
    "1900000,,12,0,55,1,u,0,0,0,0,0.001,0",
    "1950000,,12,0,55,4,u,0,0,0,0,0.001,0",  # no demand
    "2000000,,13,0,,0,u,0,0,0.2,0.1,0.001,0",
    "2000000,,13,0,55,1,u,0,0,0.2,0.1,0.001,0",
    "2500000,,13,0,55,5,u,0,0,0.2,0.1,0.001,0",  # killed
    "2600000,,9,0,56,4,u,0,0,0.7,0.1,0.001,0",
    "2700000,,14,0,55,1,u,0,0,0.2,0.1,0.001,0",  # its submission is not in the files
    "9223372036854775807,,7,0,55,4,u,1,9,0.375,0.5,0.001,0",  # after the trace
]

# job, submission s, gap, bytes read, shuffled, written, path
SWIM = [f"job{n}\t{7 * n}\t7\t{(n % 9) * 10**8}\t{(n % 3) * 10**9}\t{10**8}\tpath{n % 20}" for n in range(100)]

MACHINES = [
    "0,3,0,p,0.5,0.25",
    "0,2,0,p,1,1",
    "0,4,0,p,,",  # capacity not known
    "5000000,5,0,p,0.5,0.5",  # added later
    "6000000,3,1,p,0.5,0.25",  # removed later
]

FOLDED = {
    # submit, schedule, end, end_event, in_snapshot, cpu, mem, job, task
    "submit_time_s": [0.0, 0.0, 1.0, 1.0, 1.4, 1.7, 1.8, 1.9, 2.0],
    "schedule_time_s": [0.0, None, 1.25, 1.25, 1.6, None, 1.8, 1.9, 2.0],
    "end_time_s": [None, None, 1.350001, 1.35, 2.6, None, 1.8, 1.95, 2.5],
    "end_event": [None, None, 4, 4, 4, None, 4, 4, 5],
    "in_snapshot": [True, True] + [False] * 7,
    "cpu": [0.375, 0.5, 0.125, 0.125, 0.3, 0.2, 0.2, 0.0, 0.2],
    "mem": [0.5, 0.25, 0.25, 0.25, 0.1, 0.1, 0.1, 0.0, 0.1],
    "disk": [0.001] * 9,
    "job_id": [7, 7, 8, 8, 9, 10, 11, 12, 13],
    "task_index": [0, 1, 0, 1, 0, 0, 0, 0, 0],
}

PODS = [
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time",
    "p1,64000,524288,2,1000,,LS,Running,20,140,30",
    "p0,32000,262144,1,500,T4|P100,BE,Failed,10,130,10",  # created earlier, a part of a GPU
    "p2,128000,0,0,0,,LS,Pending,40,90,",  # never scheduled
    "p3,16000,131072,8,1000,,Burstable,Succeeded,50,51,50",
]
NODES = [
    "sn,cpu_milli,memory_mib,gpu,model",
    "n0,32000,262144,0,",
    "n1,128000,786432,8,G3",
]
SPOT_JOBS = [
    "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type",
    "j1,org-b,A10,16,1,2,30,100,HP",  # two workers; submitted later
    "j0,org-a,,8,0.25,1,0,50,Spot",  # any kind, a part of a GPU
    "j2,org-b,A100|H800,96,8,1,40,10,HP",
    "j3,org-a,B200,8,1,1,41,10,HP",  # a kind that no node has
]
SPOT_NODES = [
    "gpu_model,gpu_capacity_num,cpu_num,node_name",
    "A10,1,128,2",
    "A10,1,128,6",
    "A100,8,128,3",
]

INSTANCES = [
    "instance_sn,role,app_name,cpu_request,gpu_request,rdma_request,memory_request,disk_request,max_instance_per_node,"
    "creation_time,scheduled_time,deletion_time",
    "i0,HN,app_4,12,1,25,120.0,640.0,8,,,",  # there throughout
    "i1,CN,app_7,64,0,1,320.0,255.0,-1,200.0,210.0,300.0",
    "i2,HN,app_4,16,1,50,160.0,510.0,2,100.0,100.0,150.5",
    "i3,CN,app_7,32,0,1,80.0,255.0,-1,,,400.0",  # there at the start
    "i4,CN,app_9,32,0,1,80.0,255.0,-1,250.0,260.0,",  # there at the end
    "i5,CN,app_9,32,0,1,80.0,255.0,-1,260.0,270.0,270.0",  # no duration
]

# job, submit, wait, run, processors, cpu time, memory, requested processors, time, memory, status, user, …, preceding, think
SWF = [
    "; Version: 2.2",
    "; MaxProcs: 64",
    "; MaxNodes: 16",
    "; MaxRuntime: 7200",
    ";",
    " 1  0  5 100  32 -1 -1  32 3600 1024 1  3 1 -1 1 -1 -1 -1",
    "",
    " 3 20 -1  60.5 -1 -1 4096 16   -1   -1 1 -1 1 -1 1 -1  1 10",  # requested processors, used memory, no time requested
    " 2 10  0  50   8 -1 -1   8   60  512 -1 4 1 -1 1 -1 -1 -1",  # out of order, status unknown
    " 4 30  0  40   8 -1 -1   8   60  512 0  4 1 -1 1 -1 -1 -1",  # failed
    " 5 40  0  40   8 -1 -1   8   60  512 5  4 1 -1 1 -1 -1 -1",  # cancelled
    " 5 40  0  20   8 -1 -1   8   60  512 2  4 1 -1 1 -1 -1 -1",  # a part of it
    " 6 50  0   0   8 -1 -1   8   60  512 1  4 1 -1 1 -1 -1 -1",  # no run time
    " 7 60  0   9  -1 -1 -1  -1   60  512 1  4 1 -1 1 -1 -1 -1",  # no processors
]

# arrival, tasks, mean, durations
JOB_LINES = [
    "0.5 3  2.0  1.0 2.0 3.0",
    "1.25\t1\t0.0004\t0.0004",  # shorter than a slot of 0.5 ms
    "",
    "4  2  30.5  30.0 31  ",
    "1.25 2 7 6 0",  # out of order; a task of no duration, and a mean that is not that of the durations
]

WORKFLOW = [
    "id,submit_time_s,duration_s,cpu,memory,job,phase,predecessors,home",
    "map1,0,2,0.5,0.25,1,0,,0;1",
    "map2,0,3,0.5,0.25,1,0,,2",
    "reduce,0,1,0.25,0.5,1,1,map1 map2,",
    "report,1.5,1,0.125,0.125,2,0,reduce,",
]


def native_folder(where: Path) -> Path:
    """A folder in Google's native format, in two parts, with its machines."""
    gz(where / "task_events" / "part-00000-of-00002.csv.gz", EVENTS)
    gz(where / "task_events" / "part-00001-of-00002.csv.gz", MORE_EVENTS)
    gz(where / "machine_events" / "part-00000-of-00001.csv.gz", MACHINES)
    return where


def folded_file(where: Path) -> Path:
    """The same tasks as native_folder, folded; requests in single precision, as in the real file."""
    table = pa.table(FOLDED)
    for name in ("cpu", "mem", "disk"):
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.float32()))
    pq.write_table(table, where)
    return where


def machines_file(where: Path) -> Path:
    """The machines of native_folder in the Parquet form."""
    columns = {
        "time_s": [0.0, 0.0, 0.0, 5.0, 6.0],
        "machine_id": [3, 2, 4, 5, 3],
        "event": [0, 0, 0, 0, 1],
        "cpu": pa.array([0.5, 1, None, 0.5, 0.5], pa.float32()),
        "mem": pa.array([0.25, 1, None, 0.5, 0.25], pa.float32()),
    }
    pq.write_table(pa.table(columns), where)
    return where


def gz(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return path


def text(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
