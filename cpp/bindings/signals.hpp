// Makes Ctrl-C work while the core runs without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>

namespace jcmspl::bindings {

class SignalPoll {
public:
  // Cheap enough to call between any two kernels: it takes the GIL at most twenty times a second.
  void operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    pybind11::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  }

private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace jcmspl::bindings
