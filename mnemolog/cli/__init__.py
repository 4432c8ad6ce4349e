"""The command line (INTERFACE "CLI"): verbs over the same doors as everything else."""

from mnemolog.cli.app import main

__all__ = ["main"]
