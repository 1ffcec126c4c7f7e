"""Arrays and derivatives of other libraries: DLPack, torch, JAX."""
