// Reads a flight-recorder dump (JSON, or Python's way of printing it) line by line: on one line or pretty-printed,
// whole or cut off. Keeps the entries around the first unfinished collective of each process group only, whatever the
// size.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fx::knowledge {

struct RecorderEntry {
  int number = 0;  // 1-based line of its sequence number
  std::string group;
  long long sequence = -1;
  std::string operation;  // "nccl:_all_gather_base"
  std::string sizes;      // "[[4096,512]]", of the input
  std::string state;      // "scheduled", "started", "completed"
  std::string stage;      // our engine's: what the call was for, at most 200 bytes
  std::string frames;     // its functions, innermost first, separated by blanks; at most 300 bytes
  bool point_to_point = false;
};

struct RecorderStatus {
  int number = 0;
  std::string group;
  long long enqueued = -1;
  long long completed = -1;
};

class RecorderDump {
 public:
  void feed(std::string_view line, int number);
  // False once the text has turned out to be no dump; feeding it more is of no use.
  bool possible() const { return possible_; }
  bool recognised() const { return recognised_; }
  int rank() const { return rank_; }  // as the dump says, -1 if it does not
  // In order of group and sequence.
  std::vector<RecorderEntry> entries() const;
  std::vector<RecorderStatus> statuses() const;

 private:
  struct Level {
    bool object = false;
    bool in_frames = false;
    std::string key;  // of the object or array in its parent
  };
  struct Group {
    std::vector<RecorderEntry> done;     // the last completed ones
    std::vector<RecorderEntry> pending;  // the first unfinished ones
    RecorderStatus status;
  };

  void structure(char c);
  void open(bool object);
  void close();
  void value(std::string_view text);
  void entry_value(std::string_view key, std::string_view text);
  void finish_entry();
  void end_token();

  bool possible_ = true;
  bool recognised_ = false;
  int rank_ = -1;
  int number_ = 0;
  std::size_t seen_ = 0;  // bytes so far
  std::vector<Level> levels_;
  std::string key_;    // the last key of the innermost object
  std::string token_;  // of a string, number or literal under way
  char quote_ = 0;     // inside a string: its quote
  bool escaped_ = false;
  bool bare_ = false;            // inside a number or literal
  bool want_value_ = false;      // behind a colon
  std::size_t entry_level_ = 0;  // depth of the entry under way, 0: none
  RecorderEntry entry_;
  bool named_ = false;  // entry_.group is the process group's name, not its number
  std::map<std::string, Group> groups_;
};

}  // namespace fx::knowledge
