"""Tests of what runs around the code: the broker, and where it comes from."""
