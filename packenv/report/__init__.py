"""Output of results: text, tables, HTML, frames, charts and pages."""
