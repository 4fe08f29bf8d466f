"""What results show, as plain values: texts, tables, charts, pages. Nothing here draws or prints: `packenv.report` does."""
