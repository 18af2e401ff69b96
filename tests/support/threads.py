"""Several threads at once."""

import threading

from threadpoolctl import threadpool_info


def most_blas_threads(wanted):
    """Return the number of BLAS threads that a test wants, or 2 where more of them than CPUs are a crash.

    That is so with OpenBLAS 0.3.28, which SciPy 1.15 brings along, the last for Python 3.10 (OpenBLAS issue 4981).
    """
    return min(wanted, 2) if any(library.get("version") == "0.3.28" for library in threadpool_info()) else wanted


def in_threads(*works):
    """Run functions at the same time; what one of them raises is raised here."""
    start, raised = threading.Barrier(len(works)), []

    def run(work):
        try:
            start.wait()
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
