"""`--report FILE.html`: the page, its charts, and the sections that several commands have. Each command says what its page shows."""
