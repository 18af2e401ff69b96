"""The layouts: a good file of each, how it is damaged, and all that is loaded from it."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather
from safetensors.numpy import save_file
from scipy.io import savemat

from fuzz.mutators import mutated, mutated_deflated_mat, mutated_zip
from jcmspl import JCMSPL, load
from jcmspl.datasets import load_dataset, make_zsl, open_rows, save_npz
from jcmspl.datasets.sample_stream import read_stream
from jcmspl.embed.text_encoder import TextEncoder
from support.benchmark_files import benchmark_content, write_benchmark
from support.encoders import SENTENCES, write_text, write_tokenizer
from support.sae_files import content as sae_content
from support.sae_files import written as write_sae
from support.shards import write_zarr

_N_FEATURES = 6


@dataclass(frozen=True)
class Layout:
    """A layout of files.

    Attributes
    ----------
    write : function of a folder
        Writes good files.
    loaded : function of the folder
        Returns all that is in them, in parts that can be compared.
    mutated : function of the bytes of a file and of a generator
    one_in : int
        A campaign tries so many times fewer files of this layout, because they take long.
    """

    write: Callable[[Path], Any]
    loaded: Callable[[Path], list[Any]]
    mutated: Callable[[bytes, Any], bytes] = mutated
    one_in: int = 1


def _of_dataset(data):
    arrays = [data.X[:], data.class_numbers, data.classes.vectors, *data.parts.values()]
    texts = [data.y.tolist(), list(data.classes), data.classes.attributes]
    return [(array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()) for array in arrays] + texts


def _only_file(folder):
    return next(path for path in folder.iterdir() if path.is_file())


def _dataset_in_file(folder):
    return _of_dataset(load_dataset(_only_file(folder)))


def _dataset_in_folder(folder):
    return _of_dataset(load_dataset(folder))


def _made():
    return make_zsl(40, _N_FEATURES, 4, 4, 2, n_val=1)


def _write_model(folder):
    data = make_zsl(40, 6, 4, 4, 2)
    X, y = data.part("trainval")
    model = JCMSPL(max_iter=2, tol=0, space="visual").fit(X, y, class_vectors=data.classes)
    model.adapt(X, candidates="seen").save(folder / "model.safetensors", statistics=True)


def _loaded_model(folder):
    model = load(_only_file(folder))
    arrays = {**model.arrays_, "means": model.class_means_, "vectors": model.class_table_.vectors}
    if hasattr(model, "adapted_"):
        arrays |= {"adapted": model.adapted_.weights, "adapted vectors": model.adapted_.class_vectors}
    return [repr(model.get_params()), list(model.class_table_), *((k, v.tobytes()) for k, v in sorted(arrays.items()))]


def _write_deflated_npz(folder):
    save_npz(_made(), folder / "data.npz")
    with np.load(folder / "data.npz") as file:
        content = dict(file)
    np.savez_compressed(folder / "data.npz", **content)


def _write_npz_with_short_names(folder):
    data = _made()
    part = np.ones(data.n_samples, dtype=np.int8)
    part[data.rows("train")] = 0
    names = np.array([f"class {number}" for number in range(data.classes.n_classes)])
    arrays = {"y": data.class_numbers, "S": data.classes.vectors, "names": names, "part": part}
    np.savez(folder / "data.npz", X=data.X, **arrays, unseen=data.classes.positions(data.unseen))


def _write_deflated_benchmark(folder):
    for name, content in zip(("res101.mat", "att_splits.mat"), benchmark_content(), strict=True):
        savemat(folder / name, content, do_compression=True)


def _write_stream(folder, named):
    """Write samples as JSON lines: lists of numbers, or objects with a name for each."""
    rows = [[float(f"{value:.4g}") for value in row] for row in _made().X]
    lines = [{"id": f"sample {i}", "features": row} if named else row for i, row in enumerate(rows)]
    (folder / "samples.jsonl").write_text("\n".join(map(json.dumps, lines)))


def _streamed(folder):
    path = _only_file(folder)
    with path.open("rb") as file:
        chunks = list(read_stream(file, path, _N_FEATURES, size=16))
    return [(chunk.X.tobytes(), list(chunk.ids or ())) for chunk in chunks]


def _write_encoder(folder):
    write_text(folder / "model.onnx")
    write_tokenizer(folder / "tokenizer.json")


def _embedded(folder):
    encoder = TextEncoder(folder / "model.onnx", threads=1)
    return [encoder(SENTENCES).tobytes()]


def _write_own(folder, kind):
    data = _made()
    labels = [f"class {number}" for number in data.class_numbers]
    if kind == "npy":
        np.save(folder / "features.npy", data.X)
        np.save(folder / "labels.npy", np.array(labels))
    else:
        frame = pd.DataFrame(data.X, columns=[f"feature {i}" for i in range(data.n_features)]).assign(label=labels)
        if kind == "csv":
            frame.to_csv(folder / "features.csv", index=False)
        elif kind in ("arrow", "feather"):
            _write_arrow(folder, kind, data.X, labels)
        elif kind == "jsonl":
            rows = zip(data.X.round(4).tolist(), labels, strict=True)
            lines = [json.dumps({"name": f"x{i}", "embedding": x, "label": y}) for i, (x, y) in enumerate(rows)]
            (folder / "features.jsonl").write_text("\n".join(lines))
        else:
            frame.to_parquet(folder / "features.parquet", index=False, compression="gzip", row_group_size=16)
    names = [f"class {number}" for number in range(data.classes.n_classes)]
    pd.DataFrame(data.classes.vectors, index=names).add_prefix("attribute ").to_csv(folder / "classes.csv")
    part_of = {row: part for part, rows in data.parts.items() for row in rows}
    (folder / "split.csv").write_text("\n".join(part_of.get(row, "unused") for row in range(len(labels))))


def _write_arrow(folder, kind, X, labels):
    """Write vectors in a column of lists, in two batches: a stream, or a compressed file."""
    table = pa.table({"embedding": list(X), "label": labels, "id": [str(i) for i in range(len(X))]})
    if kind == "feather":
        feather.write_feather(table, folder / "features.feather", compression="lz4", chunksize=24)
    else:
        with pa.OSFile(str(folder / "features.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=24)


def _write_single(folder, suffix):
    """Write samples to a file of one of the kinds that are no folder, and class vectors to a JSON object."""
    data = _made()
    X, y = data.X.astype(np.float32), data.class_numbers
    names = [f"class {number}" for number in range(data.classes.n_classes)]
    if suffix == ".safetensors":
        save_file({"embedding": X, "half": X[:, 0].astype(np.float16), "label": y}, folder / "samples.safetensors")
    else:
        rows = [(f"sample {i}", x.tobytes(), int(label)) for i, (x, label) in enumerate(zip(X, y, strict=True))]
        with closing(sqlite3.connect(folder / "samples.db")) as database, database:
            database.execute("CREATE TABLE samples (id TEXT, embedding BLOB, label INTEGER)")
            database.executemany("INSERT INTO samples VALUES (?, ?, ?)", rows)
    vectors = dict(zip(names, data.classes.vectors.round(4).tolist(), strict=True))
    (folder / "classes.json").write_text(json.dumps(vectors))
    (folder / "names.txt").write_text("\n".join(names))


def _single(folder):
    (path,) = folder.glob("samples.*")
    return _of_dataset(load_dataset(path, class_vectors=folder / "classes.json", label_names=folder / "names.txt"))


LAYOUTS = {
    "zarr": Layout(
        lambda folder: write_zarr(folder, _made().X, chunks=(16, 6)), lambda folder: [open_rows(folder)[:].tobytes()]
    ),
    "model": Layout(_write_model, _loaded_model),
    "npz": Layout(lambda folder: save_npz(_made(), folder / "data.npz"), _dataset_in_file, mutated_zip),
    "npz-deflated": Layout(_write_deflated_npz, _dataset_in_file, mutated_zip),
    "npz-short-names": Layout(_write_npz_with_short_names, _dataset_in_file, mutated_zip),
    "xlsa17": Layout(write_benchmark, _dataset_in_folder),
    "xlsa17-deflated": Layout(_write_deflated_benchmark, _dataset_in_folder, mutated_deflated_mat),
    "xlsa17-7.3": Layout(lambda folder: write_benchmark(folder, "7.3"), _dataset_in_folder, one_in=5),
    "sae": Layout(lambda folder: write_sae(folder / "demo.mat"), _dataset_in_file),
    "sae-deflated": Layout(
        lambda folder: savemat(folder / "demo.mat", sae_content(), do_compression=True),
        _dataset_in_file,
        mutated_deflated_mat,
    ),
    "sae-7.3": Layout(lambda folder: write_sae(folder / "demo.mat", "7.3"), _dataset_in_file, one_in=5),
    "npy": Layout(lambda folder: _write_own(folder, "npy"), _dataset_in_folder),
    "csv": Layout(lambda folder: _write_own(folder, "csv"), _dataset_in_folder),
    "parquet": Layout(lambda folder: _write_own(folder, "parquet"), _dataset_in_folder),
    "arrow": Layout(lambda folder: _write_own(folder, "arrow"), _dataset_in_folder),
    "feather": Layout(lambda folder: _write_own(folder, "feather"), _dataset_in_folder),
    "jsonl-table": Layout(lambda folder: _write_own(folder, "jsonl"), _dataset_in_folder),
    "safetensors": Layout(lambda folder: _write_single(folder, ".safetensors"), _single),
    "sqlite": Layout(lambda folder: _write_single(folder, ".db"), _single),
    "jsonl": Layout(lambda folder: _write_stream(folder, False), _streamed),
    "jsonl-named": Layout(lambda folder: _write_stream(folder, True), _streamed),
    "encoder": Layout(_write_encoder, _embedded, one_in=5),
}
