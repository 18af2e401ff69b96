// A test framework of a few lines, so that building the tests needs no further package.
//
//   TEST(name) { CHECK(condition); CHECK_THROWS(std::domain_error, call()); CHECK_ASSERTS(call()); }
#pragma once

#include <cstdio>
#include <functional>
#include <vector>

namespace jcmspl::testing {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& all_tests() {
  static std::vector<Test> tests;
  return tests;
}

struct Registration {
  Registration(const char* name, void (*run)()) { all_tests().push_back({name, run}); }
};

inline int n_failures = 0;

inline void check(bool holds, const char* condition, const char* file, int line) {
  if (holds) return;
  ++n_failures;
  std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
}

// Whether the call ends its process by a failed assertion; true where assertions are compiled out.
bool fails_assertion(const std::function<void()>& call);

}  // namespace jcmspl::testing

#define TEST(name)                                                                   \
  static void name();                                                                \
  static const jcmspl::testing::Registration registration_of_##name(#name, &(name)); \
  static void name()

#define CHECK(...) jcmspl::testing::check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

#define CHECK_THROWS(type, ...)                                                           \
  do {                                                                                    \
    bool is_thrown = false;                                                               \
    try {                                                                                 \
      __VA_ARGS__;                                                                        \
    } catch (const type&) {                                                               \
      is_thrown = true;                                                                   \
    }                                                                                     \
    jcmspl::testing::check(is_thrown, #__VA_ARGS__ " throws " #type, __FILE__, __LINE__); \
  } while (false)

#define CHECK_ASSERTS(...)                                                                                           \
  jcmspl::testing::check(jcmspl::testing::fails_assertion([&] { __VA_ARGS__; }), #__VA_ARGS__ " fails an assertion", \
                         __FILE__, __LINE__)
