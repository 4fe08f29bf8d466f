"""Small suites for tests."""

QUICK = """{
  "name": "quick",
  "train": [{"workload": "paper/fig4b", "intensity": 0.9, "slots": 15000}],
  "test": [{"workload": "paper/fig4b", "intensity": 0.85, "slots": 15000}]
}"""
