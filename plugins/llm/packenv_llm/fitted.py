"""Quantiles fitted to two services (Azure LLM inference traces 2023, CC-BY 4.0; Patel et al., Splitwise, ISCA 2024).

`experiments` of this plug-in's tests fit them again: classes of outputs, and in each the quantiles of prompts and of outputs.
"""
