"""Events and their schemas through a real schema registry."""
