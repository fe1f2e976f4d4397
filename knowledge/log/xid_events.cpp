#include "knowledge/log/xid_events.h"

#include <algorithm>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {

const std::vector<Mark>& xid_marks() {
  static const std::vector<Mark> marks{{"xid", "xid (pci|xid |xid: |xid="}};
  return marks;
}

std::vector<XidEvent> read_xids(const LogBook& book) {
  std::vector<XidEvent> out;
  for (const int index : book.find("core", "xid").lines) {
    const auto& low = book.at(index).low;
    long long code = low.find("xid (pci") != std::string::npos ? integer_after(low, "): ").value_or(0) : 0;
    for (const std::string_view key : {"xid: ", "xid=", "xid "}) {
      if (code == 0) code = integer_after(low, key).value_or(0);
    }
    if (code > 0 && code < 1000) out.push_back({index, static_cast<int>(code)});
  }
  return out;
}

std::vector<int> xid_lines(const LogBook& book, std::initializer_list<int> codes) {
  std::vector<int> out;
  for (const auto& event : read_xids(book)) {
    if (std::find(codes.begin(), codes.end(), event.code) != codes.end()) out.push_back(event.line);
  }
  return out;
}

}  // namespace fx::knowledge
