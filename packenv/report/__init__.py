"""How results are shown: text, tables, HTML, frames of pandas or polars, charts and pages. Charts bring matplotlib."""
