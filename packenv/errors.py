"""The exception that tells users what is wrong with their input, and where."""


class InputError(ValueError):
    """Bad input: a single line that names the file, row or option, and what is wrong with it."""


class RowError(InputError):
    """Bad input in one row of a Jobs table, counted from 0. Code that read the table from a file can add the row of the file."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(row, problem)
        self.row, self.problem = row, problem

    def __str__(self) -> str:
        return f"row {self.row}: {self.problem}"


class MisuseError(InputError):
    """A policy has misused the cluster during a run: a server above its capacity, a task placed twice, an error of its own."""


def nearest(name: str, choices: list[str] | tuple[str, ...]) -> str:
    """The end of a message: `; did you mean a, b?` for the choices similar to `name`, or the list of all choices."""
    import difflib

    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    return f"; did you mean {', '.join(close)}?" if close else f"; known: {', '.join(choices)}"
