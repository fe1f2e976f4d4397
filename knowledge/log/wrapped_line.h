// What collectors and pastes put around a program's lines: Docker's JSON files, the CRI files of Kubernetes nodes,
// quote marks or indentation before every line.
#pragma once

#include <string>
#include <string_view>

namespace fx::knowledge {

// The blanks, ">" and "|" that every line of the beginning of a log starts with; empty when fewer than three lines
// tell.
std::string_view common_margin(std::string_view beginning);

// The program's own line, its collector's time in front, when the line is wrapped; else the line. What had to be put
// together lies in storage.
std::string_view unwrap_line(std::string_view line, std::string& storage);

}  // namespace fx::knowledge
