#include "knowledge/code/names.h"

#include <array>
#include <cctype>

#include "base/text.h"

namespace fx::knowledge::code {
namespace {

struct Path {
  std::string_view from, to;
};

// Longest first where one is the prefix of another.
constexpr std::array kPaths = {
    Path{"torch.distributed._composable.fsdp.fully_shard.", "torch.distributed.fsdp."},
    Path{"torch.distributed._composable.fsdp.", "torch.distributed.fsdp."},
    Path{"torch.distributed._composable.fully_shard", "torch.distributed.fsdp.fully_shard"},
    Path{"torch.distributed.fsdp._fully_shard.", "torch.distributed.fsdp."},
    Path{"torch.distributed.fsdp.fully_sharded_data_parallel.", "torch.distributed.fsdp."},
    Path{"torch.distributed.fsdp.api.", "torch.distributed.fsdp."},
    Path{"torch.distributed.fsdp.sharded_grad_scaler.", "torch.distributed.fsdp."},
    Path{"torch.distributed.fsdp.FSDP", "torch.distributed.fsdp.FullyShardedDataParallel"},
    Path{"torch.distributed.distributed_c10d.", "torch.distributed."},
    Path{"torch.distributed.device_mesh.", "torch.distributed."},
    Path{"torch.distributed._tensor.", "torch.distributed.tensor."},
    Path{"torch.distributed.checkpoint.state_dict_saver.", "torch.distributed.checkpoint."},
    Path{"torch.distributed.checkpoint.state_dict_loader.", "torch.distributed.checkpoint."},
    Path{"torch.distributed.algorithms._checkpoint.checkpoint_wrapper.", "torch.distributed.checkpoint_wrapper."},
    Path{"torch.utils.data.distributed.", "torch.utils.data."},
    Path{"torch.utils.data.dataloader.", "torch.utils.data."},
    Path{"torch.utils.data.dataset.", "torch.utils.data."},
    Path{"torch.nn.parallel.distributed.", "torch.nn.parallel."},
    Path{"torch.nn.modules.module.", "torch.nn."},
    Path{"torch.nn.utils.clip_grad.", "torch.nn.utils."},
    Path{"torch.amp.grad_scaler.", "torch.amp."},
    Path{"torch.cuda.amp.grad_scaler.", "torch.cuda.amp."},
    Path{"torch.cuda.amp.autocast_mode.", "torch.cuda.amp."},
    Path{"torch.amp.autocast_mode.", "torch.amp."},
    Path{"torch.autograd.grad_mode.", "torch."},
    Path{"torch.multiprocessing.spawn.", "torch.multiprocessing."},
    Path{"accelerate.accelerator.", "accelerate."},
    Path{"accelerate.state.", "accelerate."},
    Path{"accelerate.utils.random.", "accelerate.utils."},
    Path{"datasets.distributed.", "datasets."},
};

}  // namespace

std::string canonical_name(std::string_view dotted) {
  if (dotted.substr(0, 6) != "torch." && dotted.substr(0, 11) != "accelerate." && dotted.substr(0, 9) != "datasets.")
    return std::string(dotted);
  for (const Path& path : kPaths) {
    const bool whole = path.from.back() != '.';
    if (whole ? dotted == path.from : dotted.substr(0, path.from.size()) == path.from)
      return std::string(path.to) + std::string(dotted.substr(path.from.size()));
  }
  if (dotted == "torch.autocast") return "torch.amp.autocast";
  return std::string(dotted);
}

std::string_view last_part(std::string_view dotted) {
  const auto dot = dotted.rfind('.');
  return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

bool ends_with_part(std::string_view dotted, std::string_view part) {
  return dotted.ends_with(part) && (dotted.size() == part.size() || dotted[dotted.size() - part.size() - 1] == '.');
}

bool is_class_like(std::string_view dotted) {
  const std::string_view last = last_part(dotted);
  return !last.empty() && std::isupper(static_cast<unsigned char>(last.front())) != 0;
}

bool mentions(std::string_view name, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (contains_ignoring_case(name, part)) return true;
  }
  return false;
}

}  // namespace fx::knowledge::code
