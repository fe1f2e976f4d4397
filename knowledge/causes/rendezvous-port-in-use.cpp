#include "knowledge/causes/cause.h"

namespace fx::knowledge {
namespace {

Claim evaluate(const Scene& s, const MarkView& m) {
  const auto& listen = m("listen");
  if (!listen) return {};
  // Another service's own web port (a dashboard, an inference server) is not the job's store.
  const bool other_service =
      matches_any("uvicorn|dashboard|http server|tensorboard|wandb|grpc", s.book.at(listen.first()).low);
  Claim out = claim(other_service ? 0.6 : 0.95, listen);
  out.show(m("port"), 2).show(m("holder"), 1);
  // The store listens in rank 0's process.
  const auto named = s.book.ranks_of(listen.lines);
  return out.root(named.size() == 1 ? *named.begin() : 0);
}

}  // namespace

CauseRule rendezvous_port_in_use() {
  return {"rendezvous-port-in-use",
          {{"listen",
            "failed to listen on any local|eaddrinuse|address already in use|failed to bind*errno: 98"
            "|errno 98|errno: 98|port*already in use|is already in use*port"
            "|error while attempting to bind|tried to launch distributed communication on port"},
           {"port",
            "master_port|--master_port|--master-port|main_process_port|rdzv_endpoint|rdzv-endpoint"
            "|init_process_group*port"},
           {"holder", "ss -ltn|lsof -i|netstat|listen*0.0.0.0:|fuser"}},
          evaluate};
}

}  // namespace fx::knowledge
