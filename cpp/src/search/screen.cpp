#include "search/screen.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "support/parallel.hpp"

namespace jcmspl::search {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr float infinity = std::numeric_limits<float>::infinity();
// Bounds are sums of about ten terms in float: a bound on their rounding error, relative to the largest term.
constexpr double float_error = 1e-6;

enum Term { step, length, error, bias, n_terms };

template <class T>
VectorD mean_of_some(const ConstView<T>& columns) {
  const Index stride = std::max<Index>(1, columns.cols() / 512);
  VectorD sum = VectorD::Zero(columns.rows());
  Index count = 0;
  for (Index c = 0; c < columns.cols(); c += stride, ++count) sum += columns.col(c).template cast<double>();
  return sum / static_cast<double>(count);
}

}  // namespace

template <class T>
bool Screen<T>::pays(Index n_samples, Index n_features, Index n_candidates, Index n_best) {
  return byte_products_available() && n_samples >= 512 && n_candidates >= 1000 && n_features >= 32 &&
         n_features <= max_features && n_best <= n_candidates / 32 &&
         n_candidates <= std::numeric_limits<std::int32_t>::max();
}

// x . w_c + b_c = x . w + [o . (w_c - w) + b_c] + (x - o) . (w_c - w) for any w and o. The first term is the same for
// all candidates, the second is a bias that is computed here, and the last is a product of shorter vectors, which are
// rounded to bytes.
template <class T>
Screen<T>::Screen(const ConstView<T>& weights, const Vector<T>& bias, double bias_error, VectorD origin,
                  Index n_threads, const Poll& poll)
    : weights_(weights),
      bias_(bias),
      origin_(std::move(origin)),
      centre_(mean_of_some(weights)),
      origin_length_(origin_.norm()),
      centre_length_(centre_.norm()),
      groups_(n_groups(weights.rows())),
      panel_bytes_(groups_ * group_size * panel_width) {
  const Index m = weights.rows(), count = weights.cols();
  const Index panels = (count + panel_width - 1) / panel_width;
  codes_.resize(static_cast<std::size_t>(panels * panel_bytes_));
  MatrixD raw(count, n_terms);
  const int limit = candidate_limit(), offset = candidate_offset();
  const bool has_runs = sums_runs();
  std::vector<std::int32_t> runs(static_cast<std::size_t>(count));
  std::atomic<bool> all_exist{true};
  for_ranges_in_parallel(count, m, n_threads, poll, [&] {
    return [&, row = std::vector<std::int8_t>(static_cast<std::size_t>(groups_ * group_size))](Index first, Index last,
                                                                                               const Poll&) mutable {
      for (Index c = first; c < last; ++c) {
        std::fill(row.begin() + m, row.end(), 0);
        const Rounded w =
            round_to_bytes(weights.col(c).data(), 1, centre_.data(), origin_.data(), m, limit, row.data());
        if (!w.exists) all_exist = false;
        if (has_runs) runs[c] = largest_run(row.data(), groups_);
        std::uint8_t* to = codes_.data() + c / panel_width * panel_bytes_ + c % panel_width * group_size;
        for (std::int8_t& code : row) code = static_cast<std::int8_t>(static_cast<std::uint8_t>(code + offset));
        for (Index g = 0; g < groups_; ++g)
          std::memcpy(to + g * group_size * panel_width, &row[g * group_size], group_size);
        raw.row(c) << w.step, w.length, w.error + epsilon * (w.length + 2 * centre_length_),
            static_cast<double>(bias[c]) + w.along;
      }
    };
  });
  for (Index c = 0; c < count; c += panel_width)
    largest_runs_.push_back(*std::max_element(runs.begin() + c, runs.begin() + std::min(c + panel_width, count)));
  exists_ = all_exist && raw.allFinite();
  if (exists_) scale_terms(raw, bias_error);
}

// Bounds are divided by the largest possible score of the sample, so that they do not overflow in float.
template <class T>
void Screen<T>::scale_terms(const MatrixD& raw, double bias_error) {
  largest_length_ = raw.col(length).maxCoeff();
  const double mean_bias = raw.col(bias).mean();
  const VectorD biases = raw.col(bias).array() - mean_bias;
  common_ = origin_.dot(centre_) + mean_bias;  // and (x - o) . w, for each sample
  largest_bias_ = biases.cwiseAbs().maxCoeff();
  bias_error_ = 4 * epsilon * raw.col(bias).cwiseAbs().maxCoeff() + bias_error +
                epsilon * static_cast<double>(weights_.rows()) * origin_length_ * largest_length_ +
                float_error * largest_bias_;
  const VectorD lengths = raw.col(length) / largest_length_, errors = raw.col(error) / largest_length_;
  exists_ = largest_length_ > 0 && std::isfinite(bias_error_) && errors.maxCoeff() < 1;
  if (!exists_) return;
  terms_ = Matrix<float>::Zero(n_panels() * panel_width, n_terms);
  auto rows = terms_.topRows(raw.rows());
  rows.col(step) = (raw.col(step) / largest_length_).template cast<float>();
  rows.col(length) = ((1 + float_error) * lengths).template cast<float>();
  rows.col(error) = ((1 + float_error) * errors + float_error * lengths).template cast<float>();
  if (largest_bias_ > 0) rows.col(bias) = (biases / largest_bias_).template cast<float>();
}

template <class T>
Panel Screen<T>::panel(Index p) const {
  const auto term = [&](Term name) { return terms_.col(name).data() + p * panel_width; };
  return {codes_.data() + p * panel_bytes_, term(step), term(length), term(error), term(bias), largest_runs_[p]};
}

template <class T>
std::optional<typename Screen<T>::SampleBounds> Screen<T>::bounds_of(const Rounded& sample) const {
  const double unit = largest_length_ * sample.length + largest_bias_, scale = largest_length_ / unit;
  if (!sample.exists || !(unit > 0) || !std::isfinite(unit)) return std::nullopt;
  const double rounding = epsilon * (sample.length + 2 * origin_length_);
  SampleTerms terms{};
  terms.step = static_cast<float>(sample.step * scale);
  terms.error = static_cast<float>((sample.error + rounding) * scale);
  terms.size = static_cast<float>(sample.size * scale);
  terms.weight = static_cast<float>(largest_bias_ / unit);
  terms.slack = static_cast<float>(bias_error_ / unit + 1e-12);
  terms.offset = candidate_offset() * sample.sum;
  const double product_error = 4 * epsilon * static_cast<double>(origin_.size()) * (sample.length + origin_length_) *
                               (largest_length_ + centre_length_);
  if (!(terms.error < 1 && terms.slack < 1)) return std::nullopt;  // they would bound nothing, and could overflow
  return SampleBounds{terms, {sample.along + common_, unit, (product_error + bias_error_) / unit}};
}

template <class T>
ScreenedSearch<T>::ScreenedSearch(const Screen<T>& screen, Index n_best)
    : screen_(screen),
      n_best_(n_best),
      // To score more than these one by one would take longer than a matrix product, or too much memory.
      limit_(n_best + std::clamp<Index>(screen.weights_.cols() / 32, 32, 4096)),
      long_(std::clamp<Index>(8 * n_best, 128, 2 * limit_)),
      codes_(static_cast<std::size_t>(block_rows * screen.groups_ * group_size)),
      run_starts_(static_cast<std::size_t>(block_rows * n_runs(screen.groups_))),
      terms_(block_rows),
      thresholds_(block_rows),
      rows_(block_rows, Row{true, {}, {}, {}, Best<double>(n_best), 0}) {}

template <class T>
void ScreenedSearch<T>::begin(const ConstView<T>& x, const Vector<T>* factors) {
  for (Index i = 0; i < block_rows; ++i) {
    Row& row = rows_[i];
    row.undecided = false;
    row.survivors.clear();
    row.best_lower.clear();
    row.best.clear();
    row.n_keys = 0;
    terms_[i] = {};
    thresholds_[i] = infinity;  // of rows beyond the last one
    if (i >= x.cols()) continue;
    std::int8_t* codes = codes_.data() + i * screen_.groups_ * group_size;
    const Rounded rounded = round_to_bytes(x.col(i).data(), factors ? (*factors)[i] : 1, screen_.origin_.data(),
                                           screen_.centre_.data(), x.rows(), sample_limit, codes);
    if (const auto bounds = screen_.bounds_of(rounded)) {
      terms_[i] = bounds->terms;
      if (sums_runs()) {
        terms_[i].largest_run = largest_run(codes, screen_.groups_);
        find_run_starts(codes, screen_.groups_, run_starts_.data() + i * n_runs(screen_.groups_));
      }
      row.units = bounds->units;
      thresholds_[i] = -infinity;
    } else {
      give_up(i);
    }
  }
}

template <class T>
void ScreenedSearch<T>::bound(const Panel& panel, Index first_candidate, Index tile) {
  const Index groups = screen_.groups_, last = screen_.weights_.cols();
  const Tile samples{&codes_[tile * groups * group_size], &run_starts_[tile * n_runs(groups)], &terms_[tile]};
  find_bounds(panel, samples, groups, &thresholds_[tile], bounds_);
  for (Index i = 0; i < tile_height; ++i) {
    const SampleTerms& terms = terms_[tile + i];
    std::uint64_t above = bounds_.above[i];
    if (last - first_candidate < panel_width) above &= (std::uint64_t{1} << (last - first_candidate)) - 1;
    for (Index c = 0; above != 0; ++c, above >>= 1) {
      for (; !(above & 0xff); above >>= 8) c += 8;  // most have none
      if (!(above & 1)) continue;
      const double width = 2.0 * (static_cast<double>(terms.error) * panel.length[c] +
                                  static_cast<double>(terms.size) * panel.error[c] + terms.slack);
      add(tile + i, {bounds_.upper[i][c], static_cast<std::int32_t>(first_candidate + c)}, width);
    }
  }
}

template <class T>
void ScreenedSearch<T>::add(Index i, Survivor survivor, double width) {
  Row& row = rows_[i];
  if (row.undecided || survivor.upper < thresholds_[i]) return;
  row.survivors.push_back(survivor);
  const auto lower = static_cast<float>(survivor.upper - width);
  auto& heap = row.best_lower;
  if (static_cast<Index>(heap.size()) < n_best_) {
    heap.push_back(lower);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  } else if (lower > heap.front()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.back() = lower;
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
  if (static_cast<Index>(heap.size()) == n_best_) thresholds_[i] = std::max(thresholds_[i], heap.front());
}

template <class T>
bool ScreenedSearch<T>::is_long(Index i) {
  if (static_cast<Index>(rows_[i].survivors.size()) < long_) return false;
  drop_excluded(i);
  return 2 * static_cast<Index>(rows_[i].survivors.size()) > long_;
}

template <class T>
void ScreenedSearch<T>::drop_excluded(Index i) {
  auto& all = rows_[i].survivors;
  const auto excluded = [&](const Survivor& survivor) { return survivor.upper < thresholds_[i]; };
  all.erase(std::remove_if(all.begin(), all.end(), excluded), all.end());
}

template <class T>
void ScreenedSearch<T>::sort_survivors(Index i) {
  drop_excluded(i);
  auto& all = rows_[i].survivors;
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.upper > b.upper; });
}

template <class T>
void ScreenedSearch<T>::raise_threshold(Index i, double bound) {
  const float below = std::nextafter(static_cast<float>(bound), -infinity);
  if (below > thresholds_[i]) thresholds_[i] = below;
}

template <class T>
void ScreenedSearch<T>::give_up(Index i) {
  rows_[i].undecided = true;
  rows_[i].survivors.clear();
  thresholds_[i] = infinity;
}

template <class T>
bool ScreenedSearch<T>::is_given_up(Index tile) const {
  const auto first = thresholds_.begin() + tile;
  return std::all_of(first, first + tile_height, [](float threshold) { return threshold == infinity; });
}

template class Screen<float>;
template class Screen<double>;
template class ScreenedSearch<float>;
template class ScreenedSearch<double>;

}  // namespace jcmspl::search
