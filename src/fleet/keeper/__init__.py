"""The program beside each run: starts its command, holds it to its limits, ends every part of it.

`python -I -m fleet.keeper RUNFOLDER` reads `keeper.json` there (its shape is `files.Order`),
writes `alive.json` at once and `exit.json` last, when every secret in the run's files is masked.
Standard library, `fleet.processes` and `fleet.masking` only; it knows nothing of homes, agents or
outcomes and never writes its environment down. It needs no
runner: it goes on when the runner dies, and takes its command along when it dies itself.

`alive.json`: {run, pid, start, boot, child_pid, child_start, since, folder}; pid, start and boot
together name this keeper (see `processes.is_alive`); the child's are null until it has started.
`folder` is [device, inode] of the run folder: in a copy of the folder it says that this is one.

`escaped.json`: {boot, processes: [[pid, start], …]} of those processes of the run, as last seen,
that do not carry its id: who settles the run of a killed keeper ends them. Written once there are
any, and when they change.

`exit.json`: {run, pid, started, ended, returncode, signal, ended_by, reason, result_seen,
stdout_bytes, stderr_bytes, truncated, swept}. One of returncode and signal is a number; both are
null when the command never started. Sizes are those before cutting; `swept` counts the processes
that outlived the command and had to be told to go. `ended_by` is one of: exit (by itself), timeout,
stalled, output_cap, stopped (told to), after_result (its result was there, it did not leave),
launch (never started). Times are RFC 3339, reasons one line.
"""
