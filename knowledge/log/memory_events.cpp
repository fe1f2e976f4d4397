#include "knowledge/log/memory_events.h"

#include <algorithm>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

double or_none(std::optional<double> value) {
  return value.value_or(-1);
}

// The number in front of a phrase: "30.10 GiB already allocated".
double size_before(std::string_view low, std::string_view phrase) {
  const auto at = low.find(phrase);
  if (at == std::string_view::npos) return -1;
  const auto start = low.find_last_of(";(.,", at > 12 ? at - 12 : 0);
  const auto sizes = sizes_in(
      low.substr(start == std::string_view::npos ? 0 : start, at - (start == std::string_view::npos ? 0 : start)));
  return sizes.empty() ? -1 : sizes.back();
}

GpuOom read_oom(const LogLine& line, int index) {
  const std::string_view low = line.low;
  GpuOom oom;
  oom.line = index;
  oom.rank = line.rank;
  oom.request = or_none(size_after(low, "tried to allocate"));
  oom.device = static_cast<int>(integer_after(low, "gpu ").value_or(-1));
  oom.capacity = or_none(size_after(low, "total capacity of"));
  if (oom.capacity < 0) oom.capacity = or_none(size_after(low, "total capacty of"));
  if (oom.capacity < 0) oom.capacity = size_before(low, " total capacity");
  oom.free = or_none(size_after(low, "of which"));
  if (oom.free < 0) oom.free = size_before(low, " free;");
  oom.allocated = or_none(size_after(low, "of the allocated memory"));
  if (oom.allocated < 0) oom.allocated = size_before(low, " already allocated");
  oom.process = or_none(size_after(low, "this process has"));
  if (const auto at = low.find("is reserved by pytorch but unallocated"); at != std::string_view::npos) {
    oom.reserved_unused = size_before(low, " is reserved by pytorch but unallocated");
  } else if (const double reserved = size_before(low, " reserved in total by pytorch");
             reserved > 0 && oom.allocated > 0) {
    oom.reserved_unused = std::max(0.0, reserved - oom.allocated);
  }
  for (auto at = low.find("process "); at != std::string_view::npos; at = low.find("process ", at + 1)) {
    const auto has = low.find(" has ", at);
    if (integer_after(low.substr(at, 24), "process ") && has != std::string_view::npos && has < at + 24)
      oom.processes.push_back(or_none(size_after(low.substr(has), " has")));
  }
  oom.warning = low.find("warning") != std::string_view::npos;
  if (oom.rank < 0) {
    if (const auto rank = integer_after(low, "on rank "); rank && *rank >= 0) oom.rank = static_cast<int>(*rank);
  }
  return oom;
}

}  // namespace

const std::vector<Mark>& memory_marks() {
  static const std::vector<Mark> marks{
      {"gpu_oom",
       "resource_exhausted*hbm|ran out of memory in memory space hbm|cuda out of memory|hip out of memory|cuda error: out of memory|cuda failure 2 'out of memory'|xpu out of memory"
       "|npu out of memory|cuda runtime error*out of memory|ur_result_error_out_of_|cudaerrormemoryallocation|cuda_error_out_of_memory|tried to allocate*gpu"},
  };
  return marks;
}

std::vector<GpuOom> read_gpu_ooms(const LogBook& book) {
  std::vector<GpuOom> out;
  for (const int index : book.find("core", "gpu_oom").lines) out.push_back(read_oom(book.at(index), index));
  return out;
}

}  // namespace fx::knowledge
