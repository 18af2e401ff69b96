"""Prints the table of ratios: what against what, target, measured, verdict.

Every ratio is taken in this run, both sides on the same threads, by turns, best of several. The exit code is 1 if the
answers of two sides differ and 0 otherwise, whether or not a target is met.
"""

import argparse
import importlib.metadata
import json
import platform
import sys
from pathlib import Path

import bench_adapt
import bench_fit
import bench_iterations
import bench_many
import bench_neighbours
import bench_predict
import bench_startup
import bench_stream
import bench_sylvester
import bench_threads
import bench_tuning
from jcmspl._core import byte_products, use_byte_products
from question import THREADS, Question, Unavailable, blas_kernels

MODULES = (
    bench_fit,
    bench_iterations,
    bench_many,
    bench_sylvester,
    bench_stream,
    bench_neighbours,
    bench_predict,
    bench_adapt,
    bench_tuning,
    bench_threads,
    bench_startup,
)
QUESTIONS = [question for module in MODULES for question in module.QUESTIONS]
PACKAGES = ("jcmspl", "numpy", "scipy", "scikit-learn", "faiss-cpu")
LAYOUT = "{name:<29} {compares:<88} {target:<26} {one:>10} {measured:>11}  {instructions:<24} {verdict}"
WRONG = "WRONG ANSWER"


def answer(question: Question, rounds: int | None) -> dict:
    """Return the row of a question: measured with one thread and with all; the verdict is about all threads."""
    row = {"name": question.name, "compares": question.compares, "target": str(question.target)}
    row |= {"one": "-", "measured": "-", "instructions": instructions()}
    try:
        for column, threads in {"one": 1, "measured": THREADS}.items():
            with question.contest(threads) as contestants:
                measurement = question.measure(contestants, rounds)
            row |= {
                column: question.target.show(measurement.value),
                f"value_{threads}": measurement.value,
                f"seconds_{threads}": measurement.seconds,
            }
    except Unavailable as reason:
        return row | {"verdict": "skipped", "note": str(reason)}
    except AssertionError as error:
        return row | {"verdict": WRONG, "note": str(error).strip()}
    return row | {"verdict": "ok" if question.target.is_met(measurement.value) else "miss", "note": contestants.caveat}


def instructions() -> str:
    """Return the instructions that the BLAS of SciPy and the screens of searches use."""
    return f"{blas_kernels().get('scipy', '?')}, {byte_products()}"


def environment() -> dict:
    return {
        "cpu": cpu_model(),
        "threads": THREADS,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "blas_kernels": blas_kernels(),
    }


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def listed(values: dict) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def print_row(row: dict) -> None:
    print(LAYOUT.format(**row))
    if row.get("note"):
        print(f"    ({row['note']})")
    sys.stdout.flush()


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", default="", help="questions whose name contains this")
    parser.add_argument("--repeats", metavar="N", type=int, help="time each side this often")
    parser.add_argument("--screen", metavar="NAME", default="fastest", help="avx512_vnni, avx_vnni, avx2, neon or none")
    parser.add_argument("--json", metavar="PATH", type=Path, help="write the table, with seconds, to this file")
    options = parser.parse_args(arguments)
    if not any(options.only in question.name for question in QUESTIONS):
        parser.error(f"no such question; there are {', '.join(question.name for question in QUESTIONS)}")
    if not use_byte_products(options.screen):
        parser.error(f"this CPU has no {options.screen}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    facts = environment()
    print(f"{facts['cpu']}, {THREADS} threads, Python {facts['python']}, {listed(facts['packages'])}")
    titles = {"name": "name", "compares": "ours / peer", "target": "target", "one": "one thread"}
    titles |= {"measured": f"{THREADS} threads", "instructions": "BLAS, screen", "verdict": "verdict"}
    print(LAYOUT.format(**titles))
    rows = []
    for question in QUESTIONS:
        if options.only in question.name:
            rows.append(answer(question, options.repeats))
            print_row(rows[-1])
    facts = environment()  # by now all peers have loaded their BLAS
    print(f"BLAS kernels in use: {listed(facts['blas_kernels'])}")
    if options.json:
        options.json.write_text(json.dumps({"environment": facts, "rows": rows}, indent=2) + "\n")
    return 1 if any(row["verdict"] == WRONG for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
