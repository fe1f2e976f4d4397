#include "knowledge/causes/echo.h"

#include <algorithm>

namespace fx::knowledge {

bool is_echo(std::string_view low) {
  return matches_any(
      "childfailederror|distbackenderror|diststoreerror|distnetworkerror|socket timeout|connection reset by peer|"
      "connection closed by peer|remote process exited|actordiederror|raytaskerror|rayactorerror|checkpointexception|"
      "calledprocesserror|processexitedexception|signalexception|rendezvous|broken pipe|missing ranks|"
      "keyboardinterrupt|systemexit|processraisedexception|deprecat|worker died|engine core initialization|what():|"
      "watchdog|timed out|outofmemoryerror|out of memory|unhandled error|warning:",
      low);
}

bool failed_before(const Scene& scene, int line) {
  const auto& book = scene.book;
  const bool raised = std::any_of(scene.exceptions.begin(), scene.exceptions.end(), [&](const ExceptionEvent& event) {
    const auto& low = book.at(event.line).low;
    return book.earlier(event.line, line) && !is_echo(low) &&
           !matches_any("stopiteration|mismatch between collectives|collectives differ|monitored", low);
  });
  const bool full = std::any_of(scene.ooms.begin(), scene.ooms.end(), [&](const GpuOom& oom) {
    return !oom.warning && oom.request < 1e15 && book.earlier(oom.line, line);
  });
  return raised || full;
}

}  // namespace fx::knowledge
