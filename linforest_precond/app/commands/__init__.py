"""The commands of ``linforest``, one file each: ``add_arguments(parser)`` and ``run(arguments)``."""
