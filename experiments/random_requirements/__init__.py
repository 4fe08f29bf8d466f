"""The figures of arXiv 1901.05998, jobs with random resource requirements (PAPERS §1.6); one folder a figure."""
