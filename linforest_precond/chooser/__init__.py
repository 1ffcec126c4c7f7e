"""`auto` and `solve`: trial solves with several preconditioners, compared by counted work."""
