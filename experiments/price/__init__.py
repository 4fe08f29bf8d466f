"""The figures of Zhang and Yao's price and SAT schedulers (PAPERS §3)."""
