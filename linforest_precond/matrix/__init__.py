"""What A is: the checked matrix, its conversion and checks, its value range, vectors in, sparse out."""
