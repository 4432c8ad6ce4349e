"""The HTTP door: thin routes over the application layer (INTERFACE "HTTP")."""
