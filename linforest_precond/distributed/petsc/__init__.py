"""The class for PETSc's ``-pc_type python``: its options, and PETSc's matrices as those of this package."""
