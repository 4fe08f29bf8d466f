"""Options that commands share, with help texts and completion."""
