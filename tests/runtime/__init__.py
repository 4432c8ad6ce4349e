"""One contract suite over both runtimes."""
