"""Tests of what is known: text, indexes, views."""
