"""`python -m packenv`: the command line."""

from packenv.cli.main import main

if __name__ == "__main__":
    main()
