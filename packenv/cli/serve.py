"""`packenv serve`: a policy for schedulers in any language."""

from __future__ import annotations

import click

from packenv.cli.options.names import POLICY
from packenv.cli.options.of_fields import options_of
from packenv.errors import InputError
from packenv.options.verbs import ServeOptions


@click.command("serve")
@click.argument("policy", type=POLICY)
@options_of(ServeOptions)
def serve(policy: str, options: ServeOptions) -> None:
    """Answer messages about tasks with a policy's decisions, on standard input and output or a Unix socket.

    Each line of JSON is a message, such as {"submit": {"task": "a", "size": 0.4}}, {"complete": "a"} or {"decide": {}}, and
    gets one line as its answer. The answer to a wrong message is an error, and nothing changes.

    \b
    packenv serve bf-js --servers 5
    packenv serve agent:fig4b --servers 5 --log events.jsonl
    packenv serve easy --servers 20x64:256 --resources cpu,memory --slot-seconds 1
    """
    if options.servers is None and options.workload is None:
        raise InputError("no servers: give --servers, such as 5, 20x64:256 or a file")
    from packenv.live.scheduler import Scheduler
    from packenv.live.serve import Service, serve_socket, serve_standard

    scheduler = Scheduler(
        policy,
        options.servers,
        resources=None if options.resources is None else options.resources.split(","),
        workload=options.workload,
        seed=options.seed,
    )
    service = Service(scheduler, options.log, options.slot_seconds)
    scheduler.warm_up()
    if options.socket is None:
        serve_standard(service)
    else:
        serve_socket(service, options.socket)
