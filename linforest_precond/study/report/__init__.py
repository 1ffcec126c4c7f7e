"""The HTML report of a study: what all papers share."""
