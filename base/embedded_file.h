// A text file that was compiled into the program (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace fx {

struct EmbeddedFile {
  std::string_view path;  // relative to the folder it was embedded from
  std::string_view text;
};

}  // namespace fx
