"""Linear forests as preconditioners: the study of Klein & Strzodka (2022)."""
