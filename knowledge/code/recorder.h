// Makes the objects of a program and writes the events of the execution at hand. Internal to knowledge/code.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "knowledge/code/program.h"

namespace fx::knowledge::code {

// How a statement or a block was left.
enum class Flow : std::uint8_t { kNormal, kBreak, kContinue, kReturn, kRaise };

class Recorder {
 public:
  explicit Recorder(Program& program);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Object* make(Type type, Node node);  // made by the code at hand
  Object* unknown(Node node, Taints taints = 0);
  Object* number(double value, Node node);
  Object* text_object(std::string_view value, bool constant, Node node);
  Object* external(std::string_view name, Node node);
  Object* none() const { return none_; }
  // Either, depending on the path; b may be nullptr.
  Object* join(Object* a, Object* b, Taints taints);
  Arguments& arguments_of(std::initializer_list<Argument> list = {});
  std::string_view method_name(std::string_view name);  // "step" -> ".step"
  // "torch.distributed" and "barrier" -> "torch.distributed.barrier", canonical.
  std::string_view member_name(std::string_view owner, std::string_view name);
  const Loop* loop() const { return loop_; }
  // In force here and not for the whole loop at hand.
  bool depends_in_loop_on(Taints taints) const;
  void note_backend(std::string backend) { program_.backends_.push_back(std::move(backend)); }
  Event& emit(EventKind kind, std::string_view callee, Node node, const Arguments* given, const Object* subject,
              const Object* receiver, Object* result);

 protected:
  const Guard* add_guard(GuardKind kind, Node test, Node statement, bool positive, const Object* value);

  bool spent();  // one more step is one too many

  Program& program_;
  std::string joined_;                                                                      // a buffer
  std::unordered_map<std::string, std::string_view, TextHash, std::equal_to<>> canonical_;  // by the joined name
  Trace* trace_ = nullptr;
  const SourceFile* file_ = nullptr;
  const Guard* guard_ = nullptr;
  const Loop* loop_ = nullptr;
  const Context* context_ = nullptr;
  const Frame* frame_ = nullptr;
  int pass_ = 1;
  std::size_t steps_ = 0, root_limit_ = 0;
  Object* none_ = nullptr;
};

}  // namespace fx::knowledge::code
