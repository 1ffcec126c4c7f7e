"""The study of Mlakar et al. (2021): the batch Cuthill-McKee order."""
