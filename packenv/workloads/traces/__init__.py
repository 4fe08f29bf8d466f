"""Recorded workloads: from files to Jobs tables (PAPERS §1.1).

`read_trace("trace.csv").jobs(slot_seconds="0.1", speedup="1.3", sizes="max")` is a NamedTuple (jobs, dropped, t0). Importing this
package loads pyarrow, so import it late. A new format is one new file in `formats/`.
"""

from packenv.workloads.traces.machines import initial_capacities
from packenv.workloads.traces.read import is_trace, read_trace, write_jobs
from packenv.workloads.traces.trace import Conversion, Trace, Wanted

__all__ = ["Conversion", "Trace", "Wanted", "initial_capacities", "is_trace", "read_trace", "write_jobs"]
