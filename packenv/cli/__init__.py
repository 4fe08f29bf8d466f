"""The command `packenv`: one file or folder a subcommand."""
