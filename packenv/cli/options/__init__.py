"""The options that commands share, their help texts and what shells complete."""
