"""mnemolog: governed memory for agents, on a log. `Memory` is where to begin."""

from mnemolog.memory import AsyncMemory, AsyncScopedMemory, Memory, ScopedMemory

__all__ = ["AsyncMemory", "AsyncScopedMemory", "Memory", "ScopedMemory"]
__version__ = "0.1.0"
