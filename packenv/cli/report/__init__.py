"""`--report FILE.html`: the page, its charts, and what several pages have. `report.py` of a command says what its page shows."""
