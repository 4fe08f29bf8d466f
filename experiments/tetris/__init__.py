"""Tetris against fair sharing."""
