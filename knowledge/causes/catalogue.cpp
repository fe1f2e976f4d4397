#include "knowledge/causes/catalogue.h"

#include <map>
#include <stdexcept>

#include "base/embedded_file.h"
#include "knowledge/causes/host_memory.h"

namespace fx::embedded {
std::span<const EmbeddedFile> cause_pages();
}

namespace fx::knowledge {

// One function a cause, each in its own file.
CauseRule rendezvous_port_in_use();
CauseRule rank_to_gpu_mapping();
CauseRule mesh_world_size_mismatch();
CauseRule shm_too_small();
CauseRule gpu_oom_model_load();
CauseRule gpu_oom_optimizer_step();
CauseRule gpu_oom_activations();
CauseRule gpu_oom_logits();
CauseRule gpu_oom_checkpoint_save();
CauseRule gpu_oom_fragmentation();
CauseRule gpu_oom_shared_device();
CauseRule host_ram_oom_model_load();
CauseRule host_ram_oom_runtime();
CauseRule single_rank_exception();
CauseRule rank_killed();
CauseRule nccl_timeout_undetermined();
CauseRule disk_full();

const std::vector<CauseRule>& cause_rules() {
  static const std::vector<CauseRule> rules{rendezvous_port_in_use(),
                                            rank_to_gpu_mapping(),
                                            mesh_world_size_mismatch(),
                                            shm_too_small(),
                                            gpu_oom_model_load(),
                                            gpu_oom_optimizer_step(),
                                            gpu_oom_activations(),
                                            gpu_oom_logits(),
                                            gpu_oom_checkpoint_save(),
                                            gpu_oom_fragmentation(),
                                            gpu_oom_shared_device(),
                                            host_ram_oom_model_load(),
                                            host_ram_oom_runtime(),
                                            single_rank_exception(),
                                            rank_killed(),
                                            nccl_timeout_undetermined(),
                                            disk_full()};
  return rules;
}

const MarkTable& cause_marks() {
  static const MarkTable table = [] {
    MarkTable out;
    out.add("core", core_marks());
    out.add("core", host_memory_marks());
    for (const auto& rule : cause_rules()) out.add(rule.id, rule.marks);
    out.compile();
    return out;
  }();
  return table;
}

const Page& cause_page(const std::string& id) {
  static const std::map<std::string, Page> pages = [] {
    std::map<std::string, Page> out;
    for (const auto& file : embedded::cause_pages()) {
      auto page = parse_page(file.text);
      if (!page) throw std::runtime_error(std::string(file.path) + ": " + to_line(page.error()));
      out.emplace(page->id, std::move(*page));
    }
    return out;
  }();
  const auto it = pages.find(id);
  if (it == pages.end()) throw std::runtime_error("no page for cause " + id);
  return it->second;
}

}  // namespace fx::knowledge
