"""Figures of the papers, one file each: data in, a written file out."""
