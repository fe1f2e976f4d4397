#include "server/stdio.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "server/line_reader.h"
#include "server/worker_pool.h"

namespace fx::server {
namespace {

constexpr std::size_t kThreads = 4, kMaxQueued = 64;
constexpr std::size_t kMaxBatch = 100;

// Whole lines to a descriptor, from several threads.
class LineWriter {
 public:
  explicit LineWriter(int descriptor) : descriptor_(descriptor) {}
  bool closed() const { return closed_; }

  void write(std::string line) {
    line += '\n';
    const std::lock_guard lock(mutex_);
    std::size_t done = 0;
    while (done < line.size() && !closed_) {
      const ssize_t wrote = ::write(descriptor_, line.data() + done, line.size() - done);
      if (wrote > 0) done += static_cast<std::size_t>(wrote);
      if (wrote < 0 && errno != EINTR && errno != EAGAIN) closed_ = true;
    }
  }

 private:
  int descriptor_;
  std::mutex mutex_;
  std::atomic<bool> closed_ = false;
};

class StdioServer {
 public:
  StdioServer(const Mcp& mcp, LineWriter& out) : mcp_(mcp), out_(out) {}

  void take(const LineReader::Line& line) {
    if (line.too_long) return refuse({kInvalidRequest, "the message is larger than 4 MiB", {}, 413});
    if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
    auto parsed = parse_json(line.text);
    if (!parsed) return refuse({kParseError, to_line(parsed.error()), {}, 400});
    // Shared by the reading thread and the worker that answers from it.
    const auto document = std::make_shared<Json>(std::move(*parsed));
    if (!document->is_array()) return take_message(document, *document);
    if (document->empty() || document->size() > kMaxBatch) {
      return refuse({kInvalidRequest, "a batch holds 1 to 100 messages", {}, 400});
    }
    for (const auto& item : *document) take_message(document, item);
  }

 private:
  void refuse(const RpcError& error) { out_.write(rpc_error("", error)); }

  void take_message(const std::shared_ptr<Json>& document, const Json& item) {
    const auto message = read_message(item);
    if (!message) return refuse({kInvalidRequest, to_line(message.error()), {}, 400});
    if (message->kind != RpcKind::kRequest) return;
    if (message->method != "tools/call") return out_.write(mcp_.respond(*message));
    workers_.add([this, document, request = *message] { out_.write(mcp_.respond(request)); });
  }

  const Mcp& mcp_;
  LineWriter& out_;
  WorkerPool workers_{kThreads, kMaxQueued};
};

}  // namespace

int serve_stdio(const Mcp& mcp, int input, int output) {
  LineWriter out(output);
  const pid_t parent = ::getppid();
  // A dead parent may leave our input open in another process, so end of input alone is not enough.
  LineReader lines(input, JsonLimits{}.max_bytes, [&] { return ::getppid() == parent && !out.closed(); });
  StdioServer server(mcp, out);
  while (!out.closed()) {
    const auto line = lines.next();
    if (!line) break;
    server.take(*line);
  }
  return 0;
}

}  // namespace fx::server
