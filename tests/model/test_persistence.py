"""Models in files, and out of the process in other ways."""

import copy
import datetime as dt
import io
import json
import os
import pickle
import re
import struct
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file, save_file
from sklearn.base import clone

import jcmspl
from jcmspl import JCMSPL, ClassTable, load
from jcmspl.exceptions import ModelFileError
from jcmspl.io import archive
from jcmspl.io import files as atomic
from jcmspl.model.model_layout import decoded
from support.animals import make_zoo

ZOO = make_zoo()
GOLDEN = Path(__file__).parents[1] / "golden"


def fitted(**parameters):
    return JCMSPL(**parameters).fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)


def assert_same(one, two):
    assert one.get_params().keys() == two.get_params().keys()
    for name in ("classes_", "unseen_classes_", "visual_projection_", "objective_terms_", "objective_", "class_means_"):
        assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    for name in (
        "class_table_",
        "n_iter_",
        "converged_",
        "seen_penalty_",
        "timings_",
        "stationarity_",
        "n_features_in_",
    ):
        assert getattr(one, name) == getattr(two, name), name
    for X in (ZOO.X_new, ZOO.X_new.astype(np.float32)):
        assert_array_equal(one.decision_function(X), two.decision_function(X))
        assert_array_equal(one.predict_proba(X), two.predict_proba(X))
        assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"space": "visual", "metric": "euclidean", "feature_normalisation": "zscore", "class_normalisation": "none"},
        {"init": "random", "random_state": 3, "seen_penalty": 0.5, "temperature": 0.2, "n_concepts": 8},
        {"init": np.eye(6), "max_iter": np.int64(90), "tol": np.float64(1e-5)},
    ],
)
def test_round_trip(tmp_path, parameters):
    model = fitted(**parameters)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_same(model, again)
    for name, value in model.get_params().items():
        assert_array_equal(getattr(again, name), value, err_msg=name)
    assert_same(model, JCMSPL.load(str(tmp_path / "model")))
    clone(again)


def test_a_calibrated_model_with_feature_names(tmp_path):
    frame = pd.DataFrame(ZOO.X, columns=[f"pixel {i}" for i in range(20)])
    model = JCMSPL().fit(frame, ZOO.y, class_vectors=ZOO.table).calibrate(frame, ZOO.y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.seen_penalty_ == model.seen_penalty_ != 0
    assert_array_equal(again.feature_names_in_, frame.columns)
    assert_array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("labels", [list("abcdefghi"), range(9), [0.0, 1, True + 1, "a", "ü", -5, 2**60, "", 7.0]])
def test_label_types(tmp_path, labels):
    names = dict(zip(ZOO.table, labels, strict=True))
    y = [names[name] for name in ZOO.y]
    model = JCMSPL().fit(ZOO.X, y, class_vectors={names[name]: ZOO.table[name] for name in ZOO.table})
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.class_table_ == model.class_table_
    assert [type(a) for a in again.class_table_] == [type(a) for a in model.class_table_]
    assert again.predict(ZOO.X_new).tolist() == model.predict(ZOO.X_new).tolist()
    assert again.predict(ZOO.X_new).dtype == model.predict(ZOO.X_new).dtype


def test_going_on_after_loading(tmp_path):
    half = len(ZOO.X) // 2
    model = JCMSPL().fit(ZOO.X[:half], ZOO.y[:half], class_vectors=ZOO.table)
    model.save(tmp_path / "with", statistics=True)
    model.save(tmp_path / "without")
    again = load(tmp_path / "with").partial_fit(ZOO.X[half:], ZOO.y[half:])
    assert_allclose(again.visual_projection_, fitted().visual_projection_, rtol=1e-8, atol=1e-10)
    bare = load(tmp_path / "without")
    with pytest.raises(AttributeError, match="saved without them"):
        _ = bare.statistics_
    with pytest.raises(ValueError, match="without its statistics"):
        bare.partial_fit(ZOO.X[half:], ZOO.y[half:])
    bare.add_classes({"yeti": np.ones(8)})
    assert "yeti" in bare.unseen_classes_


def test_samples_that_were_not_solved_for_are_kept(tmp_path):
    first = np.isin(ZOO.y, ZOO.seen[2:])
    model = JCMSPL().fit(ZOO.X[first], ZOO.y[first], class_vectors=ZOO.table)
    model.partial_fit(ZOO.X[~first][:-1], ZOO.y[~first][:-1], refit=False)
    model.save(tmp_path / "model", statistics=True)
    again = load(tmp_path / "model")
    assert_array_equal(again.predict(ZOO.X_new), model.predict(ZOO.X_new))
    again.partial_fit(ZOO.X[~first][-1:], ZOO.y[~first][-1:])
    assert_allclose(again.visual_projection_, fitted().visual_projection_, rtol=1e-8, atol=1e-10)


def test_supervised_models(tmp_path):
    model = JCMSPL().fit(ZOO.X, ZOO.y)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(ZOO.X), model.predict(ZOO.X))
    with pytest.raises(ValueError, match="trained without class_vectors"):
        load(tmp_path / "model").add_classes({"new": np.ones(6)})


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("model-v*.safetensors")), ids=lambda path: path.stem)
def test_files_of_every_version_can_be_read(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = load(path)
    X = np.array(expected["X"])
    assert_allclose(model.decision_function(X), expected["decision_function"], rtol=1e-9, atol=1e-12)
    assert model.predict(X).tolist() == expected["predict"]
    assert model.classes_.tolist() == expected["classes"]
    assert model.unseen_classes_.tolist() == expected["unseen_classes"]
    assert model.statistics_.n_samples == expected["n_samples"]


def test_there_is_a_golden_file_of_this_version():
    assert (GOLDEN / f"model-v{jcmspl.model.persistence.FORMAT_VERSION}.safetensors").exists()


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        copy.copy,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: joblib.load(io.BytesIO(dumped(model))),
    ],
)
def test_pickle_joblib_and_copies(copied):
    model = fitted(seen_penalty=0.1)
    assert_same(copied(model), model)
    assert copied(model).statistics_.allclose(model.statistics_)
    model.set_params(metric=np.subtract)  # a named function goes with a pickle
    assert copied(model).metric is np.subtract


def dumped(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    return buffer.getvalue()


TIMES = [
    dt.datetime(2020, 1, 2, 3, 4, 5, 6),
    dt.datetime(2020, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    dt.date(2020, 1, 2),
    dt.timedelta(days=-1, microseconds=7),
    np.datetime64(5001, "ns"),
    np.timedelta64(-1, "ps"),
]


@pytest.mark.parametrize("label", TIMES, ids=repr)
def test_times_as_labels(tmp_path, label):
    labels = {name: label if name == ZOO.seen[0] else str(name) for name in ZOO.table}
    table = jcmspl.ClassTable(list(labels.values()), ZOO.table.vectors)
    model = JCMSPL().fit(ZOO.X, [labels[name] for name in ZOO.y], class_vectors=table)
    model.save(tmp_path / "model", statistics=True)
    again = load(tmp_path / "model")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert {type(one) for one in again.class_table_} == {type(one) for one in model.class_table_}
    assert label in again.class_table_
    assert again.predict(ZOO.X).tolist() == model.predict(ZOO.X).tolist()


@pytest.mark.parametrize(
    "item",
    [["datetime", "noon"], ["date", 5], ["timedelta", [0.5]], ["datetime64", [1, "eons"]], ["timedelta64", "ns"]],
    ids=str,
)
def test_times_that_are_none(item):
    with pytest.raises(ModelFileError, match="is not of the type"):
        decoded(item)


class TestWhatCannotBeSaved:
    def test_models_that_could_not_be_loaded(self, tmp_path):
        class Other(JCMSPL):
            pass

        with pytest.raises(ValueError, match="'Other' is no kind of model"):
            Other().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table).save(tmp_path / "model")
        with pytest.raises(ValueError, match="max_iter"):
            fitted().set_params(max_iter=0).save(tmp_path / "model")
        assert not list(tmp_path.iterdir())

    def test_functions_and_odd_labels(self, tmp_path):
        with pytest.raises(ValueError, match="metric is a function"):
            fitted().set_params(metric=np.subtract).save(tmp_path / "model")
        y = [(1, str(name)) for name in ZOO.y]
        model = JCMSPL().fit(ZOO.X, y)
        with pytest.raises(ValueError, match=r"label \(1, 'animal .'\) cannot be saved"):
            model.save(tmp_path / "model")
        assert not list(tmp_path.iterdir())

    def test_over_a_file_or_a_folder(self, tmp_path):
        model = fitted()
        model.save(tmp_path / "model")
        content = (tmp_path / "model").read_bytes()
        with pytest.raises(FileExistsError, match="exists already"):
            fitted(space="visual").save(tmp_path / "model")
        assert (tmp_path / "model").read_bytes() == content
        fitted(space="visual").save(tmp_path / "model", overwrite=True)
        assert load(tmp_path / "model").space == "visual"
        with pytest.raises(IsADirectoryError):
            model.save(tmp_path, overwrite=True)
        with pytest.raises(FileNotFoundError, match="does not exist"):
            model.save(tmp_path / "no" / "model")


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_crash_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "model"
    fitted().save(path)
    content = path.read_bytes()

    def crash(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, step, crash)
    with pytest.raises(KeyboardInterrupt):
        fitted(space="visual").save(path, overwrite=True)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")
def test_links_and_permissions_stay(tmp_path):
    path, link, dangling = tmp_path / "model", tmp_path / "link", tmp_path / "dangling"
    fitted().save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    dangling.symlink_to(tmp_path / "nothing")
    fitted(space="visual").save(link, overwrite=True)
    assert link.is_symlink()
    assert load(path).space == "visual"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        fitted().save(dangling)
    fitted().save(tmp_path / ("x" * 250))


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_the_file_as_the_umask_says(tmp_path):
    old = os.umask(0o027)
    try:
        fitted().save(tmp_path / "model")
    finally:
        os.umask(old)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640


class TestBadFiles:
    @pytest.fixture
    def path(self, tmp_path):
        fitted().save(tmp_path / "model", statistics=True)
        return tmp_path / "model"

    def rewritten(self, path, change_tensors=None, change_content=None, **metadata):
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + size])["__metadata__"]
        tensors, content = load_file(path), json.loads(header["content"])
        if change_tensors:
            change_tensors(tensors)
        if change_content:
            change_content(content)
        save_file(tensors, path, {**header, "content": json.dumps(content), **metadata})
        return path

    def test_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "nothing")

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04" * 50, b"\xff" * 64, b"PK\x03\x04" + b"0" * 100])
    def test_foreign(self, tmp_path, content):
        (tmp_path / "model").write_bytes(content)
        with pytest.raises(ModelFileError, match="not a whole safetensors file"):
            load(tmp_path / "model")

    def test_a_pickle_is_not_run(self, tmp_path):
        class Bomb:
            def __reduce__(self):
                return os.system, (f"touch {tmp_path / 'exploded'}",)

        (tmp_path / "model").write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")
        assert not (tmp_path / "exploded").exists()

    def test_safetensors_of_others(self, tmp_path):
        save_file({"a": np.ones(3)}, tmp_path / "model")
        with pytest.raises(ModelFileError, match="not a model of jcmspl"):
            load(tmp_path / "model")

    def test_truncated(self, path):
        data = path.read_bytes()
        for size in (0, 7, 8, 100, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:size])
            with pytest.raises(ModelFileError, match="not a whole safetensors file"):
                load(path)

    def test_a_folder(self, tmp_path):
        with pytest.raises(IsADirectoryError, match="is a folder"):
            load(tmp_path)

    def test_odd_versions(self, path):
        for version in ("9" * 5000, "", "-1", "1.0", "٣"):
            self.rewritten(path, format_version=version)
            with pytest.raises(ModelFileError, match="format version"):
                load(path)

    def test_other_tensors_are_not_read(self, path):
        self.rewritten(path, lambda t: t.update(surprise=np.zeros(3, dtype=np.uint8)))
        data = path.read_bytes().replace(b'"dtype":"U8"', b'"dtype":"F8_E4M3"'.ljust(12)[:12])
        assert load(path).n_features_in_ == 20
        path.write_bytes(data)

    def test_a_newer_format(self, path):
        self.rewritten(path, format_version="3", jcmspl_version="9.9")
        with pytest.raises(ModelFileError, match=r"format version '3', written by jcmspl 9.9.*a newer one is needed"):
            load(path)

    @pytest.mark.parametrize(
        "name", ["fitted.visual_projection", "class_vectors", "feature_scale", "fitted.objective_terms"]
    )
    def test_tensors(self, path, name):
        original = path.read_bytes()
        for change, message in (
            (lambda t: t.pop(name), f"'{name.removeprefix('fitted.')}' is missing"),
            (lambda t: t.update({name: t[name].astype(np.float32)}), "wrong type or shape"),
            (lambda t: t.update({name: t[name][..., None]}), "wrong type or shape"),
            (lambda t: t.update({name: np.full_like(t[name], np.nan)}), "NaN or infinity"),
        ):
            path.write_bytes(original)
            self.rewritten(path, change)
            with pytest.raises(ModelFileError, match=message):
                load(path)

    def test_any_array_that_is_missing(self, tmp_path):
        """Also one that a model can do without: it would give other answers."""
        path, table = tmp_path / "model", ClassTable.joined(one=ZOO.table, other=ZOO.table)
        model = JCMSPL(source_shares=(0.7, 0.3), class_kernel="rbf", space="visual", init=np.eye(6))
        model.fit(ZOO.X, ZOO.y, class_vectors=table)
        model.imputed_values_ = np.ones(20)
        model.adapt(ZOO.X_new, candidates="unseen").save(path, statistics=True)
        original, names = path.read_bytes(), sorted(load_file(path))
        assert {"feature_whitening", "class_columns", "imputed_values", "kernel.root", "adapted.weights", "gram"} <= {
            *names
        }
        for name in names:
            path.write_bytes(original)
            self.rewritten(path, lambda t, name=name: t.pop(name))
            with pytest.raises(ModelFileError, match=f"'{name.removeprefix('fitted.')}' is missing"):
                load(path)

    @pytest.mark.parametrize("says", ["center", "center+whiten"])
    def test_whitening_that_does_not_fit_its_name(self, tmp_path, says):
        """In files that do not say which arrays they have, too."""
        path, other = tmp_path / "model", {"center": "center+whiten", "center+whiten": "center"}[says]
        fitted(feature_normalisation=other).save(path)
        self.rewritten(path, change_content=lambda c: c.update(feature_normalisation=says, arrays=[]))
        with pytest.raises(ModelFileError, match=rf"'feature_whitening' does not fit .* '{re.escape(says)}'"):
            load(path)

    def test_where_nothing_could_be_whitened(self, tmp_path):
        path, X = tmp_path / "model", np.random.default_rng(0).standard_normal((5, 3))
        with pytest.warns(RuntimeWarning, match="nothing is whitened"):
            model = JCMSPL(feature_normalisation="center+whiten").fit(X, np.arange(5), class_vectors=np.eye(5))
        model.save(path)
        assert_array_equal(load(path).predict(X), model.predict(X))
        self.rewritten(
            path, change_content=lambda c: (c.pop("arrays"), c.update(feature_normalisation="center+whiten"))
        )
        assert_array_equal(load(path).predict(X), model.predict(X))  # as earlier files say

    @pytest.mark.parametrize(
        "change",
        [
            lambda c: c.update(arrays=5),
            lambda c: c.update(model="os.system"),
            lambda c: c["parameters"].update(metric=["a"]),
            lambda c: c["parameters"].update(surprise=1),
            lambda c: c["parameters"].update(space=None),
            lambda c: c.update(n_seen=99),
            lambda c: c.update(n_seen="many"),
            lambda c: c["labels"].pop(),
            lambda c: c["labels"].append(c["labels"][0]),
            lambda c: c["labels"].__setitem__(0, ["eval", "1"]),
            lambda c: c["labels"].__setitem__(0, ["int", "1"]),
            lambda c: c["labels"].__setitem__(0, 3),
            lambda c: c.update(feature_normalisation="magic"),
            lambda c: c.update(feature_names=["a"]),
            lambda c: c.update(column_names=["a"]),
            lambda c: c.update(column_names="abcdefghijklmnopqrst"),
            lambda c: c.update(column_names=[None] * 20),
            lambda c: c.update(calibration=[["semantic", "cosine", None]]),
            lambda c: c.update(calibration=[["audio", "cosine", 1.0]]),
            lambda c: c["parameters"].update(init=None),
            lambda c: c["parameters"].update(init={}),
            lambda c: c["sampled_labels"].pop(),
            lambda c: c["sampled_labels"].reverse(),
            lambda c: c["sampled_labels"].__setitem__(0, c["sampled_labels"][1]),
            lambda c: c["parameters"].update(progress=[]),
            lambda c: c["parameters"].update(random_state={}),
            lambda c: c.update(attributes=5),
            lambda c: c.pop("timings"),
            lambda c: c.clear(),
        ],
    )
    def test_content(self, path, change):
        self.rewritten(path, change_content=change)
        with pytest.raises(ModelFileError):
            load(path)

    def test_no_concepts(self, path):
        names = ("fitted.visual_projection", "fitted.semantic_projection")
        self.rewritten(path, lambda t: t.update({name: t[name][:0] for name in names}))
        with pytest.raises(ModelFileError, match="wrong type or shape"):
            load(path)

    def test_arrays_for_parameters_that_are_none_are_not_read(self, path):
        self.rewritten(path, lambda t: t.update({"parameter.tol": np.array(0.5), "parameter.progress": np.ones(3)}))
        assert (load(path).tol, load(path).progress) == (fitted().tol, True)

    def test_a_shape_that_no_array_has(self, path):
        size = struct.unpack("<Q", path.read_bytes()[:8])[0]
        header = json.loads(path.read_bytes()[8 : 8 + size])
        header["gram"] |= {"shape": [2**63, 0], "data_offsets": [0, 0]}
        text = json.dumps({"__metadata__": header["__metadata__"], "gram": header["gram"]}).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text)
        with pytest.raises(ModelFileError):
            load(path)

    @pytest.mark.parametrize(
        "claim",
        [
            struct.pack("<Q", 2**63 + 5),
            struct.pack("<Q", 2**40),
            struct.pack("<Q", 10**9),
            {"dtype": "F64", "shape": [2**20, 2**20], "data_offsets": [0, 2**43]},
            {"dtype": "F64", "shape": [2**31, 2**31], "data_offsets": [0, 8]},
            {"dtype": "F64", "shape": [-1], "data_offsets": [0, 2**64 - 1]},
            {"dtype": "F64", "shape": [1] * 100, "data_offsets": [0, 8]},
        ],
    )
    def test_headers_that_claim_much(self, path, claim):
        data = path.read_bytes()
        if isinstance(claim, dict):
            size = struct.unpack("<Q", data[:8])[0]
            header = json.loads(data[8 : 8 + size])
            text = json.dumps({"__metadata__": header["__metadata__"], "gram": claim}).encode()
            path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
        else:
            path.write_bytes(claim + data[8:])
        with pytest.raises(ModelFileError, match=re.escape(str(path))):
            load(path)

    @pytest.mark.skipif(os.name != "posix", reason="files with holes")
    @pytest.mark.parametrize("name", ["gram", "surprise"])
    def test_a_file_with_holes(self, path, monkeypatch, name):
        """It is as large as it claims, but nothing is on the disk: more than memory holds is not even begun."""
        size = struct.unpack("<Q", path.read_bytes()[:8])[0]
        metadata = json.loads(path.read_bytes()[8 : 8 + size])["__metadata__"]
        claimed = {name: {"dtype": "F64", "shape": [2**16, 2**16], "data_offsets": [0, 2**35]}}
        text = json.dumps({"__metadata__": metadata, **claimed}).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text)
        os.truncate(path, 8 + len(text) + 2**35)
        monkeypatch.setattr(archive, "memory_at_hand", lambda: 2**34)
        if name == "gram":
            with pytest.raises(MemoryError, match=f"not enough memory to read {re.escape(str(path))}"):
                load(path)
        else:  # an array that is not wanted is not read, whatever it claims
            with pytest.raises(ModelFileError, match="is missing"):
                load(path)

    @pytest.mark.parametrize("content", ["", "[]", "nothing", "[" * 100_000, "3"])
    def test_json(self, path, content):
        self.rewritten(path, content=content)
        with pytest.raises(ModelFileError):
            load(path)

    @pytest.mark.parametrize("scale", [1e-200, 1e200])
    def test_scales_that_are_out_of_all_proportion(self, tmp_path, scale):
        path = tmp_path / "model"
        path.write_bytes((GOLDEN / "model-v1.safetensors").read_bytes())
        self.rewritten(path, lambda t: t["feature_scale"].__setitem__(0, scale))
        load(path)  # without a warning

    def test_sums_that_are_out_of_all_proportion(self, tmp_path):
        path = tmp_path / "model"
        path.write_bytes((GOLDEN / "model-v1.safetensors").read_bytes())
        self.rewritten(path, lambda t: t["gram"].fill(1.7e308))
        with pytest.raises(ModelFileError, match="the normalisation of samples does not fit them"):
            load(path)

    @settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.data())
    def test_any_damage_is_an_error_or_harmless(self, path, data):
        content = bytearray((GOLDEN / "model-v1.safetensors").read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        try:
            model = load(path)
        except ModelFileError:
            return
        assert np.isfinite(model.visual_projection_).all()


def test_load_checks_the_kind(tmp_path):
    class Other(JCMSPL):
        pass

    fitted().save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"holds a JCMSPL, not a Other: use jcmspl.load"):
        Other.load(tmp_path / "model")


def test_names_of_files(tmp_path):
    model = JCMSPL().fit(ZOO.X, ZOO.y, class_vectors=ZOO.table)
    for name in ("model.pkl", "model.NPZ", "model.joblib", "model.onnx"):
        with pytest.raises(ValueError, match=rf"a model is saved as a safetensors file, but .*{name} is named like"):
            model.save(tmp_path / name)
    for name in ("model.safetensors", "model", "model.v2"):
        model.save(tmp_path / name)
        with pytest.raises(FileExistsError, match=rf"{name} exists already: .* overwrite=True$"):
            model.save(tmp_path / name)
        model.save(tmp_path / name, overwrite=True)
