"""Run the command line: `python -m kinfolk`."""

from kinfolk.cli.app import main

if __name__ == "__main__":
    main()
