"""The command `linforest`, and what users call about the installation."""
