"""The command `linforest`, `show_config` and `warmup`."""
