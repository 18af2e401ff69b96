#include "arrays.hpp"
#include "jcmspl/search/hamming.hpp"
#include "register.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

using search::Codes;
using Words = Contiguous<std::uint64_t>;

Codes codes(const Words& words) {
  require(words.ndim() == 2, "expected a two-dimensional array");
  return {words.data(), words.shape(0), words.shape(1)};
}

VectorD checked_bias(const Codes& samples, const Codes& candidates, const Contiguous<double>& bias) {
  require(samples.n_words == candidates.n_words, "the codes have different lengths");
  require(bias.ndim() == 1 && bias.size() == candidates.count, "expected a bias for each candidate");
  return Eigen::Map<const VectorD>(bias.data(), bias.size());
}

}  // namespace

void register_hamming(py::module_& m) {
  m.def(
      "hamming_scores",
      [](const Words& x, const Words& candidates, const Contiguous<double>& bias, Index n_threads) {
        const Codes of_samples = codes(x), of_candidates = codes(candidates);
        const VectorD offsets = checked_bias(of_samples, of_candidates, bias);
        py::array_t<double> out({of_samples.count, of_candidates.count});
        double* data = out.mutable_data();
        {
          py::gil_scoped_release release;
          search::hamming_scores(of_samples, of_candidates, offsets, data, n_threads, SignalPoll());
        }
        return out;
      },
      py::arg("X").noconvert(), py::arg("candidates").noconvert(), py::arg("bias").noconvert(), py::arg("n_threads"));
  m.def(
      "hamming_top_k",
      [](const Words& x, const Words& candidates, const Contiguous<double>& bias, Index k, Index n_threads) {
        const Codes of_samples = codes(x), of_candidates = codes(candidates);
        const VectorD offsets = checked_bias(of_samples, of_candidates, bias);
        require(k >= 1 && k <= of_candidates.count, "k is outside 1..number of candidates");
        py::array_t<std::int64_t> indices({of_samples.count, k});
        py::array_t<double> scores({of_samples.count, k});
        auto* index_data = indices.mutable_data();
        double* score_data = scores.mutable_data();
        {
          py::gil_scoped_release release;
          search::hamming_top_k(of_samples, of_candidates, offsets, k, index_data, score_data, n_threads, SignalPoll());
        }
        return py::make_tuple(indices, scores);
      },
      py::arg("X").noconvert(), py::arg("candidates").noconvert(), py::arg("bias").noconvert(), py::arg("k"),
      py::arg("n_threads"));
}

}  // namespace jcmspl::bindings
