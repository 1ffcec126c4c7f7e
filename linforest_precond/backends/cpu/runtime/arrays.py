"""Arrays as arguments of compiled kernels."""


def readonly(array):
    """A view that cannot be written: writable and read-only inputs then share one compiled kernel."""
    view = array.view()
    view.flags.writeable = False
    return view
