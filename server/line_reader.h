// Lines from a descriptor, with a length limit and a wake-up call.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace fx::server {

class LineReader {
 public:
  struct Line {
    std::string text;
    bool too_long = false;  // the text was dropped
  };

  // still_wanted is asked about once a second while waiting; false ends the input.
  LineReader(int descriptor, std::size_t max_bytes, std::function<bool()> still_wanted);
  // nullopt: end of input. A last line without its line end counts.
  std::optional<Line> next();

 private:
  bool fill();  // false: no more will come
  std::optional<Line> take(std::size_t end, std::size_t skip);

  int descriptor_;
  std::size_t max_bytes_;
  std::function<bool()> still_wanted_;
  std::string buffer_;
  std::size_t searched_ = 0;
  bool dropping_ = false;  // inside a line that is too long
};

}  // namespace fx::server
