"""`python -m lmprobe`: the command line, for a shell that does not find `lmprobe`."""

from lmprobe.cli.main import main

if __name__ == "__main__":
    main()
