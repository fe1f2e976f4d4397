// The NVIDIA driver's Xid lines.
#pragma once

#include <initializer_list>
#include <vector>

#include "knowledge/log/log_book.h"

namespace fx::knowledge {

struct XidEvent {
  int line = 0;
  int code = 0;
};

const std::vector<Mark>& xid_marks();
std::vector<XidEvent> read_xids(const LogBook& book);
// Lines whose code is one of these.
std::vector<int> xid_lines(const LogBook& book, std::initializer_list<int> codes);

}  // namespace fx::knowledge
