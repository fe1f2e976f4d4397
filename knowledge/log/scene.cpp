#include "knowledge/log/scene.h"

#include <algorithm>

#include "base/text.h"
#include "knowledge/log/chatter.h"
#include "knowledge/log/exception_events.h"
#include "knowledge/log/exit_events.h"
#include "knowledge/log/field_reader.h"
#include "knowledge/log/memory_events.h"
#include "knowledge/log/train_progress.h"
#include "knowledge/log/xid_events.h"

namespace fx::knowledge {
namespace {

const std::vector<Mark>& world_marks() {
  static const std::vector<Mark> marks{
      {"world",
       "world_size|world size|nranks|nproc_per_node|nproc-per-node|num_processes|ngpu=|nnodes|global_rank*/|starting with * processes"}};
  return marks;
}

int find_world(const LogBook& book) {
  long long world = -1, per_node = -1, nodes = 1;
  const auto take = [](long long& into, std::optional<long long> value) {
    if (value && *value > 0 && *value < 1000000) into = std::max(into, *value);
  };
  for (const int index : book.find("core", "world").lines) {
    const std::string low = replace_all(book.at(index).low, "\"", "");
    for (const std::string_view key : {"world_size=", "world_size =", "world_size:", "world_size(",
                                       "world size:", "world size ", "world_size ", "nranks "}) {
      take(world, integer_after(low, key));
    }
    take(world, integer_after(low, "starting with "));
    if (const auto member = low.find("member: "); member != std::string::npos)
      take(world, integer_after(low.substr(member), "/"));
    for (const std::string_view key : {"nproc_per_node=", "nproc_per_node ", "nproc-per-node=", "nproc-per-node ",
                                       "--num_processes ", "--num_processes=", "ngpu="}) {
      take(per_node, integer_after(low, key));
    }
    for (const std::string_view key : {"nnodes=", "nnodes ", "nnodes:"}) take(nodes, integer_after(low, key));
  }
  if (world > 0) return static_cast<int>(world);
  return per_node > 0 ? static_cast<int>(per_node * nodes) : -1;
}

// A single loss is a step's when a learning rate or a count of iterations stands beside it.
bool one_training_step(const Scene& scene) {
  return scene.steps.size() == 1 &&
         matches_any("lr|learning_rate|iter|epoch|grad_norm|step", scene.book.at(scene.steps.front().line).low);
}

}  // namespace

std::vector<Mark> core_marks() {
  std::vector<Mark> out;
  for (const auto* group : {&collective_marks(), &exit_marks(), &memory_marks(), &exception_marks(), &progress_marks(),
                            &scope_marks(), &stack_marks(), &world_marks(), &xid_marks(), &chatter_marks()}) {
    out.insert(out.end(), group->begin(), group->end());
  }
  out.push_back({"shell", "$ "});
  return out;
}

Scene make_scene(LogBook book, JobConfig config) {
  Scene scene;
  scene.book = std::move(book);
  scene.config = std::move(config);
  scene.timeouts = read_collective_timeouts(scene.book);
  scene.status = read_work_status(scene.book);
  scene.running = read_running_collectives(scene.book);
  scene.exits = read_exits(scene.book);
  scene.ooms = read_gpu_ooms(scene.book);
  scene.exceptions = read_exceptions(scene.book);
  scene.code.assign(scene.book.lines.size(), false);
  for (const auto& exception : scene.exceptions) {
    for (const int frame : exception.frames) scene.code[static_cast<std::size_t>(frame)] = true;
  }
  scene.steps = read_steps(scene.book);
  scene.stacks = read_thread_stacks(scene.book);
  // A main thread that was caught somewhere is a rank that stands there.
  for (const auto& stack : scene.stacks) {
    if (stack.rank >= 0 && (stack.thread.empty() || stack.thread == "mainthread"))
      scene.running.push_back({stack.lines.front(), stack.rank, -1, "", "", "started", "", "", stack.frames});
  }
  for (const auto& line : scene.book.lines) {
    if (line.rank >= 0) scene.ranks.insert(line.rank);
  }
  for (const auto& event : scene.timeouts) {
    if (event.rank >= 0) scene.ranks.insert(event.rank);
  }
  for (const auto& exit : scene.exits) {
    if (exit.rank >= 0) scene.ranks.insert(exit.rank);
  }
  scene.world = find_world(scene.book);
  if (scene.world > 0 && !scene.ranks.empty() && *scene.ranks.rbegin() >= scene.world) scene.world = -1;
  scene.desync = find_desync(scene.timeouts, scene.status, scene.running, scene.ranks, scene.world);
  scene.scope = find_scope(scene.book, scene.steps.size() >= 2 || one_training_step(scene));
  return scene;
}

std::string Scene::setting(const std::string& key) const {
  const auto it = config.find(key);
  return it == config.end() ? std::string{} : it->second;
}

const ExceptionEvent* Scene::exception_at(int line) const {
  const auto it =
      std::find_if(exceptions.begin(), exceptions.end(), [&](const auto& event) { return event.line == line; });
  return it == exceptions.end() ? nullptr : &*it;
}

bool Scene::in_traceback(int line) const {
  return code[static_cast<std::size_t>(line)];
}

int Scene::phase_line(int line) const {
  if (const auto* exception = exception_at(line)) {
    const int frame = telling_frame(book, exception->frames);
    if (frame >= 0 && phase_of_code(book.at(frame).low_body()) != Phase::kUnknown) return frame;
  }
  const int rank = book.at(line).rank;
  for (int i = line - 1; i >= 0 && i > line - 400 && book.at(i).log == book.at(line).log; --i) {
    const auto& other = book.at(i);
    if (rank >= 0 && other.rank >= 0 && other.rank != rank && other.rank != 0) continue;
    if (!in_traceback(i) && phase_announced(other.low_body()) != Phase::kUnknown) return i;
  }
  return -1;
}

Phase Scene::phase_at(int line) const {
  const int telling = phase_line(line);
  if (telling < 0) return Phase::kUnknown;
  if (const auto* exception = exception_at(line)) {
    if (std::find(exception->frames.begin(), exception->frames.end(), telling) != exception->frames.end()) {
      return phase_of_code(book.at(telling).low_body());
    }
  }
  return phase_announced(book.at(telling).low_body());
}

bool Scene::stepped_before(int line) const {
  return std::any_of(steps.begin(), steps.end(), [&](const auto& step) { return step.line < line; });
}

int Scene::failed_by_itself() const {
  std::set<int> own, others;
  bool several_nodes = false;
  for (const auto& exit : exits) {
    const int rank = exit.rank >= 0 ? exit.rank : exit.local_rank;
    if (rank < 0) continue;
    several_nodes = several_nodes || (exit.rank >= 0 && exit.local_rank >= 0 && exit.rank != exit.local_rank);
    (exit.code != 0 || exit.signal == 9 || exit.signal == 11 || exit.signal == 7 ? own : others).insert(rank);
  }
  if (several_nodes) return -1;
  return own.size() == 1 ? *own.begin() : -1;
}

std::optional<int> Scene::one_rank(const std::vector<int>& lines) const {
  const auto named = book.ranks_of(lines);
  if (named.size() == 1) return *named.begin();
  if (!named.empty()) return std::nullopt;
  if (const int own = failed_by_itself(); own >= 0) return own;
  // Nobody named: the one rank that nearly all the others waited for.
  const int suspect = desync.suspect();
  return suspect >= 0 ? std::optional<int>(suspect) : std::nullopt;
}

}  // namespace fx::knowledge
