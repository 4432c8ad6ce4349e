"""`python -m mnemolog`: the same as the command `mnemolog`."""

from mnemolog.cli import main

if __name__ == "__main__":
    main()
