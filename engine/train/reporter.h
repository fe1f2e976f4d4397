// Where a run's events go: lines in the file named by FX_EVENTS, else <output>/events.jsonl, written by rank 0. Errors
// of any rank are also a JSON line on its standard error.
#pragma once

#include <filesystem>
#include <string>

#include "spec/event.h"

namespace fx::engine {

class Reporter {
 public:
  Reporter(std::filesystem::path events_file, int rank);
  template <class Body>
  void report(Body body) const {
    write(Event{now(), std::move(body)});
  }
  void error(ErrorEvent error) const;

 private:
  static long long now();
  void write(const Event& event) const;
  std::filesystem::path events_file_;
  int rank_;
};

}  // namespace fx::engine
