"""Traffic matrices of networks: packets between addresses merged to links, and their aggregate properties."""
