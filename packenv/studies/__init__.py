"""The figures of arXiv 1901.05998 (PAPERS §1.6), one file each: runs in, tables, claims and a picture out."""
