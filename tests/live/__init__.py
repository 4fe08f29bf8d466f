"""Tests of packenv.live."""
