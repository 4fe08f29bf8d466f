"""Content of results as plain values, drawn by `packenv.report`."""
