#include "knowledge/causes/catalogue.h"

#include <array>
#include <map>
#include <stdexcept>

#include "base/embedded_file.h"
#include "knowledge/causes/echo.h"
#include "knowledge/causes/engine_run.h"
#include "knowledge/causes/host_memory.h"
#include "knowledge/causes/reconcile.h"
#include "knowledge/causes/stall.h"
#include "knowledge/causes/state_dict_errors.h"
#include "knowledge/causes/step_time.h"

namespace fx::embedded {
std::span<const EmbeddedFile> cause_pages();
}

namespace fx::knowledge {

// One function a cause, each in its own file.
CauseRule master_addr_unreachable();
CauseRule rendezvous_port_in_use();
CauseRule rendezvous_missing_workers();
CauseRule network_path_blocked();
CauseRule nccl_wrong_socket_interface();
CauseRule rank_to_gpu_mapping();
CauseRule mesh_world_size_mismatch();
CauseRule gpu_p2p_broken();
CauseRule rdma_fabric_error();
CauseRule os_resource_limit();
CauseRule nccl_library_mismatch();
CauseRule shm_too_small();
CauseRule gpu_fell_off_bus();
CauseRule gpu_ecc_uncorrectable();
CauseRule embedding_index_out_of_range();
CauseRule illegal_memory_access();
CauseRule gpu_oom_model_load();
CauseRule gpu_oom_optimizer_step();
CauseRule gpu_oom_activations();
CauseRule gpu_oom_logits();
CauseRule gpu_oom_checkpoint_save();
CauseRule gpu_oom_fragmentation();
CauseRule gpu_oom_shared_device();
CauseRule host_ram_oom_model_load();
CauseRule host_ram_oom_runtime();
CauseRule uneven_data_across_ranks();
CauseRule collective_on_subset_of_ranks();
CauseRule conditional_forward_desync();
CauseRule slow_preprocessing_timeout();
CauseRule slow_checkpoint_timeout();
CauseRule single_rank_exception();
CauseRule rank_killed();
CauseRule nccl_timeout_undetermined();
CauseRule fsdp_mixed_dtype();
CauseRule fsdp_mixed_requires_grad();
CauseRule fsdp_wrap_class_not_found();
CauseRule fsdp_params_not_gathered();
CauseRule dtensor_tensor_mix();
CauseRule meta_tensor_not_materialized();
CauseRule pretrained_weights_not_loaded();
CauseRule amp_dtype_mismatch();
CauseRule non_finite_loss();
CauseRule labels_all_masked();
CauseRule checkpoint_recompute_mismatch();
CauseRule no_grad_through_checkpoint();
CauseRule cpu_offload_no_cpu_backend();
CauseRule optimizer_state_device_mismatch();
CauseRule state_dict_prefix_mismatch();
CauseRule state_dict_partial_shards();
CauseRule vocab_size_mismatch();
CauseRule checkpoint_unreadable();
CauseRule checkpoint_world_size_mismatch();
CauseRule checkpoint_save_race();
CauseRule async_save_process_group();
CauseRule disk_full();
CauseRule stale_file_handle();
CauseRule scheduler_termination();
CauseRule session_hangup();
CauseRule hub_download_failure();
CauseRule weight_sync_deadlock();
CauseRule weight_sync_shape_mismatch();
CauseRule rollout_engine_crashed();
CauseRule throughput_offload_bound();
CauseRule throughput_dataloader_bound();
CauseRule throughput_interconnect_bound();

namespace {

// In the order of the taxonomy; of equal scores the first one wins.
constexpr std::array kRules{master_addr_unreachable,
                            rendezvous_port_in_use,
                            rendezvous_missing_workers,
                            network_path_blocked,
                            nccl_wrong_socket_interface,
                            rank_to_gpu_mapping,
                            mesh_world_size_mismatch,
                            gpu_p2p_broken,
                            rdma_fabric_error,
                            os_resource_limit,
                            nccl_library_mismatch,
                            shm_too_small,
                            gpu_fell_off_bus,
                            gpu_ecc_uncorrectable,
                            embedding_index_out_of_range,
                            illegal_memory_access,
                            gpu_oom_model_load,
                            gpu_oom_optimizer_step,
                            gpu_oom_activations,
                            gpu_oom_logits,
                            gpu_oom_checkpoint_save,
                            gpu_oom_fragmentation,
                            gpu_oom_shared_device,
                            host_ram_oom_model_load,
                            host_ram_oom_runtime,
                            uneven_data_across_ranks,
                            collective_on_subset_of_ranks,
                            conditional_forward_desync,
                            slow_preprocessing_timeout,
                            slow_checkpoint_timeout,
                            single_rank_exception,
                            rank_killed,
                            nccl_timeout_undetermined,
                            fsdp_mixed_dtype,
                            fsdp_mixed_requires_grad,
                            fsdp_wrap_class_not_found,
                            fsdp_params_not_gathered,
                            dtensor_tensor_mix,
                            meta_tensor_not_materialized,
                            pretrained_weights_not_loaded,
                            amp_dtype_mismatch,
                            non_finite_loss,
                            labels_all_masked,
                            checkpoint_recompute_mismatch,
                            no_grad_through_checkpoint,
                            cpu_offload_no_cpu_backend,
                            optimizer_state_device_mismatch,
                            state_dict_prefix_mismatch,
                            state_dict_partial_shards,
                            vocab_size_mismatch,
                            checkpoint_unreadable,
                            checkpoint_world_size_mismatch,
                            checkpoint_save_race,
                            async_save_process_group,
                            disk_full,
                            stale_file_handle,
                            scheduler_termination,
                            session_hangup,
                            hub_download_failure,
                            weight_sync_deadlock,
                            weight_sync_shape_mismatch,
                            rollout_engine_crashed,
                            throughput_offload_bound,
                            throughput_dataloader_bound,
                            throughput_interconnect_bound};

}  // namespace

const std::vector<CauseRule>& cause_rules() {
  static const std::vector<CauseRule> rules = [] {
    std::vector<CauseRule> out;
    for (const auto make_rule : kRules) out.push_back(make_rule());
    return out;
  }();
  return rules;
}

const MarkTable& cause_marks() {
  static const MarkTable table = [] {
    MarkTable out;
    out.add("core", core_marks());
    for (const auto* marks : {&host_memory_marks(), &stall_marks(), &state_dict_marks(), &step_time_marks(),
                              &engine_run_marks(), &echo_marks(), &reconcile_marks()})
      out.add("core", *marks);
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
