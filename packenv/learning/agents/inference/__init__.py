"""The networks of saved agents in compiled code, one network a file, and how its arrays are made from saved weights."""
