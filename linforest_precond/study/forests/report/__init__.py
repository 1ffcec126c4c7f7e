"""The sections of the report on linear forests."""
