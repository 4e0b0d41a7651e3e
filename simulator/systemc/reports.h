// What SystemC says goes to stderr, since stdout carries a tool's data; what is mere information is not said.
#pragma once

#include <cstdlib>
#include <iostream>
#include <systemc>

namespace cs::sim {

inline void report_to_stderr(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  if (actions & sc_core::SC_DISPLAY) std::cerr << sc_core::sc_report_compose_message(report) << "\n";
  if (actions & sc_core::SC_THROW) throw report;
  if (actions & sc_core::SC_ABORT) std::abort();
}

inline void reports_to_stderr() {
  sc_core::sc_report_handler::set_handler(report_to_stderr);
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
}

}  // namespace cs::sim
