"""Files of preconditioners: schemas, checks, packing."""
