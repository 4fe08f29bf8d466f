"""The interface of a policy, its registration, and its lookup.

A compiled policy is a NamedTuple of its parameters, with compiled functions registered for its type:
`@schedules(MyPolicy)` and, where needed, `@completes(MyPolicy)` and `@receives(MyPolicy)`. One generic loop dispatches on
that type, so machine code can be cached on disk. Optional parts of a policy:

needs(setting)                what the cluster must keep for it
initial_state(setting, seed)  a NamedTuple of arrays that lasts through a run
rehearsal                     a policy with the same machine code and a cheap initial state, if its own takes long to make
rule                          a NamedTuple for compiled code in place of the policy; the functions are registered for its type.
                              For policies that differ only in their state, or have parameters such as texts
A policy in plain Python is any object with `schedule(cluster, state)`. It calls the same functions of the cluster.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from packenv.catalogue import CATALOGUE
from packenv.content.text import listed
from packenv.errors import ArgumentError, InputError, MisuseError, line_on, nearest
from packenv.inputs.numbers import LARGEST_WHOLE, read_number, read_whole
from packenv.lazy_names import load
from packenv.policy_names import check_parameters, rule_file, target_of
from packenv.policy_names import registered as registered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from packenv.jobs import Jobs
    from packenv.workloads.workload import Workload

# Orders in which waiting tasks and servers can be kept; a policy names those it uses.
BY_SIZE = 1  # waiting tasks by (size, row): the largest that fits
BY_AGE = 2  # by (eligible slot, row), with their sizes: the oldest that fits
BY_TYPE = 4  # virtual queues: the number of tasks in each
BY_DEMAND = 8  # groups of waiting tasks with the same demand vector
BY_ROOM = 16  # servers by (room, index): the tightest that fits
BY_INDEX = 32  # by index, with their room: the first that fits
BY_QUEUE = 64  # waiting tasks in queue order: the oldest, and the next one behind a task
BY_LINE = 128  # each virtual queue in queue order; goes with BY_TYPE
BY_MIX = 256  # number of jobs of each type on each server; goes with BY_TYPE

ORDER_FLAGS = {
    "BY_SIZE": BY_SIZE, "BY_AGE": BY_AGE, "BY_TYPE": BY_TYPE, "BY_DEMAND": BY_DEMAND, "BY_ROOM": BY_ROOM, "BY_INDEX": BY_INDEX,
    "BY_QUEUE": BY_QUEUE, "BY_LINE": BY_LINE, "BY_MIX": BY_MIX,
}  # fmt: skip
NOT_NAMED = "that its `needs` do not name"
"""Is in the message of compiled code that misses an order: which ones there are is known here."""

UNLIMITED = 2**62
PLAIN = (bool, int, float, str)  # types of parameters that a file may give


class Needs(NamedTuple):
    """A policy's needs: orders, packing, types of tasks.

    orders       BY_… flags
    vectors      packs all resources of a server rather than the scalar size
    levels       J of the partition I; 0 without virtual queues
    most_levels  the largest J that the policy may change to
    types        (T,) units, descending: the largest size of each type, in place of I; (T, D): boxes
    least        (L,) units: every job takes at least this much of a server's room
    room         (L,) units: scalar room of an empty server, if not its capacity
    reserve      the most messages that the policy posts in one slot
    in_service   the most tasks in service together, if known
    durations    knows the service of tasks: column `estimate`, or the true one if there is no such column
    table        knows the Jobs table of the run in advance, except the arrival slots
    reads        starts tasks only where their network reads fit too (Network.reading)
    rejects      keeps nothing of waiting tasks from slot to slot, so tasks that do not start may be lost
    devices      starts tasks only where they fit on the devices of a server (`fits`)
    gangs        starts all tasks of a gang in the same slot (`start_first_fit`, `start_best_fit`)
    """

    orders: int = 0
    vectors: bool = False
    levels: int = 0
    most_levels: int = 0
    types: NDArray[np.int64] | None = None
    least: NDArray[np.int64] | None = None
    room: NDArray[np.int64] | None = None
    reserve: int = 0
    in_service: int = UNLIMITED
    durations: bool = False
    table: bool = False
    reads: bool = False
    rejects: bool = False
    devices: bool = False
    gangs: bool = False


WITH_GANGS = f"{listed([name for name, entry in CATALOGUE.items() if 'gangs' in entry.can.split()])} do"
"""Who starts gangs, for messages."""


class Setting(NamedTuple):
    """The cluster and workload known before a run."""

    capacity: NDArray[np.int64]  # (L, D) units
    workload: Workload
    levels: int  # J by default (PAPERS §1.3), from the law or table of sizes
    largest_size: int  # units of scalar size; the supremum of the law of sizes

    @property
    def table(self) -> Jobs:
        """All jobs of the run; needs `table`, InputError for a stream."""
        if self.workload.jobs is None:
            raise InputError(f"workload {self.workload.name} is a stream: a policy that knows all jobs needs a table of them")
        return self.workload.jobs

    def playing(self, workload: Workload) -> Setting:
        """Return this setting, same J, for one seed's table."""
        return self if workload is self.workload else self._replace(workload=workload, largest_size=workload.largest_size())


def find_policy(text: str) -> Any:
    """Return a policy from its name and parameters.

    Examples: `bf-js`, `vqs:J=5,stall`, `my_module:MyPolicy`, `my_module:MyPolicy:x=1`. `my_rule.py:priority` is a rule in a file:
    it is read and checked, never imported (`packenv.policies.rules.language`).
    Raises InputError for an unknown name or parameter, with the nearest ones, or a value of the wrong type.
    """
    named = rule_file(text)
    if named is not None:
        return load("packenv.policies.rules.rule").find_rule(named, text)
    target, parameters = target_of(text)
    return _construct(_load(target, text), parameters, text)


def takes_text(name: str) -> bool:
    """Return whether a name stands for a file (`agent:PATH`)."""
    if rule_file(name) is not None:
        return True
    first = name.partition(":")[0]
    return first in registered() and bool(getattr(_load(registered()[first], name), "takes_text", False))


def find_registered(text: Any) -> Any:
    """Return a policy named in a file, without other code.

    The file may come from someone else. So it may only name registered policies with plain parameters, such as `vqs:J=5`. Raises
    InputError for `module:attribute`, and for a parameter that names a file (`agent:PATH`, `replay:FILE`).
    """
    name, _, parameters = str(text).partition(":")
    if not isinstance(text, str) or name not in registered():
        raise InputError(f"unknown policy {text!r}: a file can name registered ones only{nearest(name, list(registered()))}")
    factory = _load(registered()[name], text)
    if takes_text(name):
        raise InputError(f"a file cannot name the policy {text!r}, which is read from another file")
    kinds = get_type_hints(factory) if inspect.isclass(factory) else {}
    for key in (part.partition("=")[0] for part in parameters.split(",")):
        if kinds.get(key, str) not in PLAIN:
            raise InputError(f"policy {text!r}: a file cannot give parameter {key!r}, which is not a plain value")
    return _construct(factory, parameters, text)


def _load(target: str, text: str) -> Any:
    module, _, attribute = target.partition(":")
    if not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"policy {text!r}: {module!r} is not the name of a module")
    try:
        loaded = load(module) if module.startswith("packenv.") else import_named(module)
    except ModuleNotFoundError as error:
        raise InputError(f"policy {text!r}: no module named {error.name!r}") from None
    except (Exception, SystemExit) as error:  # whatever a user's module does wrong
        raise InputError(f"policy {text!r}: module {module!r} cannot be imported: {line_on(error)}") from None
    if not hasattr(loaded, attribute):
        raise InputError(f"policy {text!r}: module {module!r} has no {attribute!r}")
    return getattr(loaded, attribute)


def _construct(factory: Any, text: str, spelled: str) -> Any:
    """Call the policy's class with `key=value` parameters; `key` means True."""
    if getattr(factory, "takes_text", False):
        return factory(text)
    if not callable(factory):
        if text:
            raise InputError(f"policy {spelled!r} takes no parameters")
        return factory
    # Read each value by the type of its parameter.
    kinds = _kinds_of_parameters(factory)
    check_parameters(spelled, text, [*kinds])
    values: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        values[key] = _value(value or "true", kinds[key], f"policy {spelled!r}: {key}")
    try:
        return factory(**values)
    except InputError:
        raise
    except Exception as error:  # a user's class may raise anything
        if isinstance(error, TypeError) and inspect.isfunction(factory) and not text:
            what = f"{factory.__name__} is to return a policy when it is called without arguments"
            rule = "a rule is def priority(task, server, cluster), named as FILE.py:priority"
            raise InputError(f"policy {spelled!r}: {what} ({error}); {rule}") from None
        raise InputError(
            f"policy {spelled!r}: {error if isinstance(error, (TypeError, ValueError)) else line_on(error)}"
        ) from None


def _kinds_of_parameters(factory: Callable[..., Any]) -> dict[str, Any]:
    """Return each parameter's type: the annotation's, or its default's."""
    fields, named = get_type_hints(factory) if inspect.isclass(factory) else {}, {kind.__name__: kind for kind in PLAIN}
    kinds = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        written = named.get(str(getattr(parameter.annotation, "__name__", parameter.annotation)))
        of_default = type(parameter.default) if isinstance(parameter.default, PLAIN) else str
        kinds[name] = fields.get(name, written or of_default)
    return kinds


def _value(text: str, kind: Any, parameter: str) -> Any:
    choices = {"true": True, "false": False}
    try:
        if kind in (int, float):
            return read_whole(text, -LARGEST_WHOLE) if kind is int else read_number(text, infinite=True)
        return choices[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError, TypeError):
        raise InputError(f"{parameter} must be {getattr(kind, '__name__', kind)}, not {text!r}") from None


def name_of(policy: Any) -> str:
    """Return a policy's name without defaults, `vqs:J=5`. InputError for classes."""
    if inspect.isclass(policy):
        raise InputError(f"{policy.__name__} is a class: pass an object, {policy.__name__}()")
    if isinstance(getattr(policy, "name", None), str):
        return str(policy.name)
    kind = type(policy)
    names = {target: name for name, target in registered().items()}
    name = names.get(f"{kind.__module__}:{kind.__qualname__}", kind.__name__)
    defaults: dict[str, Any] = getattr(policy, "_field_defaults", {})
    knobs: dict[str, Any] = policy._asdict() if hasattr(policy, "_asdict") else {}
    if not knobs and kind.__init__ is not object.__init__:  # a plain class: what it keeps under the names of its arguments
        arguments = inspect.signature(kind).parameters
        defaults = {key: argument.default for key, argument in arguments.items()}
        values = {key: getattr(policy, key, defaults[key]) for key in arguments}
        knobs = {key: value for key, value in values.items() if isinstance(value, PLAIN)}
    changed = [(key, value) for key, value in knobs.items() if defaults.get(key) != value]
    parameters = ",".join(key if value is True else f"{key}={value}" for key, value in changed)
    return f"{name}:{parameters}" if parameters else name


def policies_in(policies: Any) -> list[Any]:
    """Return the policies of an argument: several, or one.

    Raises ArgumentError for none.
    """
    chosen = [*policies] if isinstance(policies, Iterable) and not isinstance(policies, str) else [policies]
    if not chosen:
        raise ArgumentError("no policy: name one in `policies`")
    return chosen


def distinct_names(policies: Sequence[Any]) -> list[str]:
    """Return distinct names of policies that are compared.

    Classes with the same name become MODULE:CLASS, or else the texts that name them. Raises InputError for the same policy twice.
    """
    named = [find_policy(policy) if isinstance(policy, str) else policy for policy in policies]
    plain = [name_of(policy) for policy in named]
    names = []
    for policy, name in zip(named, plain, strict=True):
        kind = type(policy)
        full = plain.count(name) > 1 and name.startswith(kind.__name__)
        names.append(f"{kind.__module__}:{kind.__qualname__}{name.removeprefix(kind.__name__)}" if full else name)
    shared = {name for name in names if names.count(name) > 1}
    names = [policy if name in shared and isinstance(policy, str) else name for policy, name in zip(policies, names, strict=True)]
    if len(set(names)) < len(names):
        again = next(name for n, name in enumerate(names) if name in names[:n])
        alike = [n for n, name in enumerate(names) if name == again]
        texts = [policies[n] if isinstance(policies[n], str) else plain[n] for n in alike]
        same = all(named[n] == named[alike[0]] for n in alike)
        what_to_do = "they are one policy, leave out the others" if same else "give the class an attribute `name`"
        raise InputError(f"two policies have the same name: {', '.join(texts)}: {what_to_do}")
    return names


def guarantee_of(policy: Any, setting: Setting) -> float:
    """Return the policy's proved share of ρ*, or 0."""
    return float(policy.guarantee(setting)) if hasattr(policy, "guarantee") else 0.0


def needs_of(policy: Any, setting: Setting) -> Needs:
    """Return the policy's `needs`; by default all orders but virtual queues."""
    if hasattr(policy, "needs"):
        return _called(policy, policy.needs, setting)
    vectors = setting.capacity.shape[1] > 1
    orders = BY_QUEUE | BY_SIZE | BY_AGE | BY_ROOM | BY_INDEX | (BY_DEMAND if vectors else 0)
    return Needs(orders, vectors=vectors, reads=True, rejects=True, devices=True)  # `fits` says whether there is room


def is_told_durations(policy: Any, setting: Setting) -> bool:
    """Return whether `Needs.durations` is set, or code reads existing estimates."""
    if needs_of(policy, setting).durations:
        return True
    jobs = setting.workload.jobs
    return jobs is not None and jobs.estimate is not None and asks_estimates(policy)


def asks_estimates(policy: Any) -> bool:
    """Return whether a user's policy code calls `estimate_of`."""
    kind = type(policy)
    if kind.__module__.startswith(f"{__package__}."):
        return False  # those of packenv say what they know
    attributes = [value for base in kind.__mro__[:-1] for value in vars(base).values()]
    left = attributes + [
        hook for (_, registered_for), hook in hooks.items() if registered_for in (kind, type(parameters_of(policy)))
    ]
    seen: set[Any] = set()
    while left:
        function = left.pop()
        function = getattr(function, "py_func", function)  # of a compiled one
        if not inspect.isfunction(function) or function in seen:
            continue
        seen.add(function)
        names = _names_in(function.__code__)
        if "estimate_of" in names:
            return True
        others = (function.__globals__.get(name) for name in names)
        left += [other for other in others if getattr(other, "__module__", None) == function.__module__]
    return False


def _names_in(code: CodeType) -> set[str]:
    inner = (_names_in(part) for part in code.co_consts if isinstance(part, CodeType))
    return {*code.co_names}.union(*inner)


def initial_state_of(policy: Any, setting: Setting, seed: int) -> Any:
    return _called(policy, policy.initial_state, setting, seed) if hasattr(policy, "initial_state") else ()


def _called(policy: Any, method: Callable[..., Any], *arguments: Any) -> Any:
    """Call a policy's method, turning errors but InputError into MisuseError."""
    try:
        return method(*arguments)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # a user's policy may raise anything
        raise misuse(policy, error) from error


def misuse(policy: Any, error: Exception, orders: int = 0) -> MisuseError:
    """Return the error for an exception in a policy."""
    known = ""
    if NOT_NAMED in str(error):
        there, absent = ([name for name, flag in ORDER_FLAGS.items() if bool(orders & flag) is kept] for kept in (True, False))
        known = f": they name {listed(there) if there else 'none'}, not {listed(absent)}"
    return MisuseError(f"policy {name_of(policy)}: {line_on(error)}{known}")


def keeps_books(policy: Any, setting: Setting) -> bool:
    """Return whether a policy handles completions or messages, or needs all jobs."""
    events, kind = ("on_completion", "on_message"), type(parameters_of(policy))
    return needs_of(policy, setting).table or any((event, kind) in hooks or hasattr(policy, event) for event in events)


def attached(policy: Any, cluster: Any, state: Any) -> Any:
    """Return `attach(cluster, state)` for new arrays, or the state itself."""
    return policy.attach(cluster, state) if hasattr(policy, "attach") else state


def parameters_of(policy: Any) -> Any:
    """Return the part for compiled code: `rule`, or the policy."""
    return getattr(policy, "rule", policy)


Hook = Callable[..., Any]
hooks: dict[tuple[str, type], Hook] = {}
"""Compiled functions of policies, by (event, type of the policy or of its rule)."""


def schedules(policy_type: type) -> Callable[[Hook], Hook]:
    """Register `schedule(policy, cluster, state)`, called in every slot with an event."""
    return _register("schedule", policy_type)


def completes(policy_type: type) -> Callable[[Hook], Hook]:
    """Register `on_completion(policy, cluster, state, task)`, called per completion in row order."""
    return _register("on_completion", policy_type)


def receives(policy_type: type) -> Callable[[Hook], Hook]:
    """Register `on_message(policy, cluster, state, code, payload)`, called per due message."""
    return _register("on_message", policy_type)


def takes_over(policy_type: type) -> Callable[[Hook], Hook]:
    """Register `take_over(policy, cluster, state)`, called before the first `schedule` after another policy."""
    return _register("take_over", policy_type)


def _register(event: str, policy_type: type) -> Callable[[Hook], Hook]:
    def register(function: Hook) -> Hook:
        hooks[event, policy_type] = function
        return function

    return register


class CurrentFolder(MetaPathFinder):
    """A finder in the current folder: names in `requests`, found ones in `modules`."""

    def __init__(self) -> None:
        self.requests: set[str] = set()
        self.modules: set[str] = set()

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Find a module in the folder itself, outside packages."""
        if path is not None or not (fullname in self.requests or _importer() in self.modules):
            return None
        spec = PathFinder.find_spec(fullname, [str(Path.cwd())])
        if spec is not None:
            self.modules.add(fullname)
        return spec


def _importer() -> str:
    """Return the top package of the module that imports."""
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


FINDER = CurrentFolder()


def import_named(module: str) -> ModuleType:
    """Import a user's module, perhaps of the current folder."""
    if FINDER not in sys.meta_path:
        sys.meta_path.append(FINDER)
    first = module.partition(".")[0]
    FINDER.requests.add(first)
    try:
        return importlib.import_module(module)
    finally:
        FINDER.requests.discard(first)
