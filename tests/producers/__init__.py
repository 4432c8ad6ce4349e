"""Tests of `producers`: what upstream uses to build, sign, publish and import events."""
