"""What the child processes of these tests share."""

from __future__ import annotations

import logging

import structlog


def only_errors() -> None:
    """Log errors alone, in this process."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
