// Shared by the models beside: what they expect, and how they end.
#pragma once

#include <iostream>
#include <string>
#include <systemc>

namespace model {

inline int failures = 0;

template <class A, class B>
void expect(const A& have, const B& want, const std::string& what) {
  if (have == static_cast<A>(want)) return;
  std::cerr << what << " is " << have << ", expected " << want << "\n";
  ++failures;
}

inline int result(const char* name) {
  std::cout << name << ": " << (failures == 0 ? "ok" : "failed") << "\n";
  return failures == 0 ? 0 : 1;
}

}  // namespace model
