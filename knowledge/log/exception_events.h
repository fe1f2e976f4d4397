// Reads exceptions with their tracebacks, also when the traceback's head is cut off.
#pragma once

#include <vector>

#include "knowledge/log/event.h"
#include "knowledge/log/log_book.h"

namespace fx::knowledge {

const std::vector<Mark>& exception_marks();
std::vector<ExceptionEvent> read_exceptions(const LogBook& book);

}  // namespace fx::knowledge
