"""How results are shown: as text, HTML, frames of pandas or polars, and pictures. Whatever needs matplotlib loads it late."""
