// Runs the tests of all test_*.cpp.
#include <sys/wait.h>
#include <unistd.h>

#include <Eigen/Core>
#include <csignal>
#include <exception>

#include "plain_blas.hpp"
#include "testing.hpp"

namespace jcmspl::testing {

#ifdef EIGEN_NO_DEBUG

bool fails_assertion(const std::function<void()>&) { return true; }

#else

bool fails_assertion(const std::function<void()>& call) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stderr)) _exit(2);
    call();
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif

}  // namespace jcmspl::testing

int main() {
  using namespace jcmspl::testing;
  bind_plain_blas<float>();
  bind_plain_blas<double>();
  for (const Test& test : all_tests()) {
    const int before = n_failures;
    try {
      test.run();
    } catch (const std::exception& error) {
      check(false, error.what(), test.name, 0);
    }
    std::printf("%s %s\n", n_failures == before ? "ok    " : "FAILED", test.name);
  }
  return n_failures > 0;
}
