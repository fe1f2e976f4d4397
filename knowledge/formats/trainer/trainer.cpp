#include "knowledge/formats/trainer/trainer.h"

#include <algorithm>

#include "base/text.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kMaxInline = 32768;  // bytes of JSON on the command line
constexpr std::size_t kMaxOptions = 2048;  // bytes of --fsdp

// Keys of JSON written into a flag stand where the flag stands.
void move_to(Node& node, const Node& flag) {
  node.line = flag.line;
  node.column = flag.column;
  node.shown = flag.shown;
  for (Node& child : node.children) move_to(child, flag);
}

// The Trainer splits a string at blanks alone: "full_shard,auto_wrap" is one option, and no known one.
std::vector<std::string> option_words(const Node* node) {
  if (node == nullptr || node->is_list()) return words_of(node);
  std::vector<std::string> words;
  const std::string text = replace_all(node->text.substr(0, kMaxOptions), "\t", " ");
  for (const auto word : split(text, ' ')) {
    if (!trim(word).empty()) words.emplace_back(trim(word));
  }
  return words;
}

}  // namespace

TrainerView::TrainerView(const Input& input) : input_(input) {
  if (input.root().children.empty()) {
    launch_ = input.launch_with("fsdp");
    if (launch_ == nullptr) launch_ = input.launch_with("per_device_train_batch_size");
    const Node* flag = argument("fsdp_config");
    if (flag != nullptr && flag->text.size() <= kMaxInline && contains(flag->text, "{")) {
      Document document = read_json(flag->text);
      has_inline_ = !document.error && document.root.is_map();
      inline_block_ = std::move(document.root);
      move_to(inline_block_, *flag);
    }
  }
  for (const auto& word : option_words(fsdp())) {
    const std::string low = to_lower(word);
    if (low != "true" && low != "false" && !word.empty()) options_.push_back(word);
  }
}

const Node* TrainerView::argument(std::string_view name) const {
  if (input_.is(kFsdpConfigJson)) return nullptr;
  if (launch_ != nullptr) return launch_->arguments.find(name);
  return input_.root().find(name);
}

const Node* TrainerView::block() const {
  if (input_.is(kFsdpConfigJson)) return &input_.root();
  if (has_inline_) return &inline_block_;
  const Node* node = argument("fsdp_config");
  return node != nullptr && node->is_map() ? node : nullptr;
}

const Node* TrainerView::setting(const std::string& name) const {
  const Node* map = block();
  if (map == nullptr) return nullptr;
  const Node* prefixed = map->find("fsdp_" + name);
  return prefixed != nullptr ? prefixed : map->find(name);
}

bool TrainerView::has_option(std::string_view word) const {
  return std::find(options_.begin(), options_.end(), word) != options_.end();
}

bool TrainerView::fsdp_on() const {
  if (input_.is(kFsdpConfigJson)) return true;
  return !options_.empty() || is_true(fsdp());
}

bool TrainerView::runs_under_fsdp() const {
  const bool accelerate = launch_ != nullptr && launch_->launcher == Launcher::kAccelerate;
  return fsdp_on() || (accelerate && launch_->flag("use_fsdp") != nullptr);
}

std::optional<int> TrainerView::version() const {
  const Node* node = setting("version");
  const bool reads_version = !input_.context.known_below("transformers", "5");
  if (reads_version && node != nullptr) {
    if (const auto number = integer_of(node)) return static_cast<int>(*number);
  }
  if (!fsdp_on() && runs_under_fsdp()) {  // the plugin is accelerate's
    return static_cast<int>(integer_of(launch_->flag("fsdp_version")).value_or(1));
  }
  if (const auto newest = input_.context.at_least("transformers", "5.10")) return *newest ? 2 : 1;
  return std::nullopt;
}

const std::vector<std::string>& trainer_fsdp_options() {
  static const std::vector<std::string> names = {"full_shard",         "shard_grad_op", "no_shard", "hybrid_shard",
                                                 "hybrid_shard_zero2", "offload",       "auto_wrap"};
  return names;
}

const std::vector<std::string>& trainer_fsdp_keys() {
  static const std::vector<std::string> names = {"version",
                                                 "reshard_after_forward",
                                                 "cpu_offload",
                                                 "offload_params",
                                                 "auto_wrap_policy",
                                                 "transformer_layer_cls_to_wrap",
                                                 "min_num_params",
                                                 "state_dict_type",
                                                 "activation_checkpointing",
                                                 "cpu_ram_efficient_loading",
                                                 "backward_prefetch",
                                                 "forward_prefetch",
                                                 "sync_module_states",
                                                 "use_orig_params",
                                                 "limit_all_gathers",
                                                 "sharding_strategy",
                                                 "xla",
                                                 "xla_fsdp_v2",
                                                 "xla_fsdp_settings",
                                                 "xla_fsdp_grad_ckpt"};
  return names;
}

}  // namespace fx::knowledge
