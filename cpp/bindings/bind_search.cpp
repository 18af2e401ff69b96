#include "arrays.hpp"
#include "jcmspl/search/recognition.hpp"
#include "register.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

using search::AffineScorer;
using search::Metric;
using search::Space;

template <class T>
AffineScorer<T> scorer(const Contiguous<T>& weights, const Contiguous<T>& bias) {
  AffineScorer<T> out{transposed_view(weights), Eigen::Map<const Vector<T>>(bias.data(), bias.size())};
  require(out.weights.cols() == out.bias.size(), "expected a bias for each candidate");
  return out;
}

void check_search(Index cols, Index n_features, Index n_best, Index n_candidates) {
  require(cols == n_features, "the samples have another number of features than the candidates");
  require(n_best >= 1 && n_best <= n_candidates, "k is outside 1..number of candidates");
}

template <class T>
py::tuple top_k(const Strided<T>& x, const Contiguous<T>& weights, const Contiguous<T>& bias, Index k, bool unit_rows,
                bool roots, Index n_threads, Index product_threads) {
  const Samples<T> chunk = samples(x);
  const AffineScorer<T> affine = scorer(weights, bias);
  check_search(chunk.cols, affine.weights.rows(), k, affine.weights.cols());
  py::array_t<std::int64_t> indices({chunk.rows, k});
  py::array_t<T> scores({chunk.rows, k});
  auto* index_data = indices.mutable_data();
  T* score_data = scores.mutable_data();
  {
    py::gil_scoped_release release;
    affine.top_k(chunk, k, {roots, unit_rows}, index_data, score_data, {n_threads, product_threads}, SignalPoll());
  }
  return py::make_tuple(indices, scores);
}

template <class T>
py::array_t<T> affine_scores(const Strided<T>& x, const Contiguous<T>& weights, const Contiguous<T>& bias,
                             bool unit_rows, bool roots) {
  const Samples<T> chunk = samples(x);
  const AffineScorer<T> affine = scorer(weights, bias);
  require(chunk.cols == affine.weights.rows(), "the samples have another number of features than the candidates");
  py::array_t<T> out({chunk.rows, affine.weights.cols()});
  T* data = out.mutable_data();
  py::gil_scoped_release release;
  affine.scores(chunk, {roots, unit_rows}, data, SignalPoll());
  return out;
}

template <class T>
py::tuple find_nearest(const Strided<T>& x, const Contiguous<T>& prototypes, Index k, Metric metric, Index n_threads) {
  const Samples<T> chunk = samples(x);
  const ConstView<T> candidates = transposed_view(prototypes);
  check_search(chunk.cols, candidates.rows(), k, candidates.cols());
  py::array_t<std::int64_t> indices({chunk.rows, k});
  py::array_t<T> values({chunk.rows, k});
  auto* index_data = indices.mutable_data();
  T* value_data = values.mutable_data();
  {
    py::gil_scoped_release release;
    search::nearest(chunk, candidates, k, metric, index_data, value_data, n_threads, SignalPoll());
  }
  return py::make_tuple(indices, values);
}

template <class T>
void register_scores(py::module_& m) {
  m.def("top_k", &top_k<T>, py::arg("X").noconvert(), py::arg("weights").noconvert(), py::arg("bias").noconvert(),
        py::arg("k"), py::arg("unit_rows"), py::arg("roots"), py::arg("n_threads"), py::arg("product_threads") = 1);
  m.def("affine_scores", &affine_scores<T>, py::arg("X").noconvert(), py::arg("weights").noconvert(),
        py::arg("bias").noconvert(), py::arg("unit_rows"), py::arg("roots"));
  m.def("nearest", &find_nearest<T>, py::arg("X").noconvert(), py::arg("prototypes").noconvert(), py::arg("k"),
        py::arg("metric"), py::arg("n_threads"));
}

}  // namespace

void register_search(py::module_& m) {
  py::enum_<Space>(m, "Space")
      .value("visual", Space::visual)
      .value("semantic", Space::semantic)
      .value("concept", Space::concept_space);
  py::enum_<Metric>(m, "Metric")
      .value("cosine", Metric::cosine)
      .value("euclidean", Metric::euclidean)
      .value("dot", Metric::dot);
  m.def(
      "fold",
      [](const Contiguous<double>& a, const Contiguous<double>& b, const Contiguous<double>& candidates, Space space,
         Metric metric) {
        const MatrixD at = transposed(a), bt = transposed(b), vectors = transposed(candidates);
        require(at.cols() == bt.cols() && bt.rows() == vectors.rows(),
                "expected projections (k, m) and (k, d) and candidates (n, d)");
        search::FoldedScorer affine = search::fold(at, bt, vectors, space, metric);
        py::array_t<double> bias = to_numpy(affine.bias);
        return py::make_tuple(to_numpy(std::move(affine.weights)), bias);
      },
      py::arg("visual_projection").noconvert(), py::arg("semantic_projection").noconvert(),
      py::arg("candidates").noconvert(), py::arg("space"), py::arg("metric"));
  m.def("byte_products", &search::byte_products);
  m.def("use_byte_products", &search::use_byte_products, py::arg("name"));  // for tests and comparisons
  register_scores<float>(m);
  register_scores<double>(m);
}

}  // namespace jcmspl::bindings
