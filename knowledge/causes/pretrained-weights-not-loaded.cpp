#include <algorithm>
#include <cmath>
#include <map>

#include "knowledge/causes/cause.h"
#include "knowledge/causes/stall.h"
#include "knowledge/causes/state_dict_errors.h"
#include "knowledge/log/field_reader.h"
#include "knowledge/log/quantity.h"

namespace fx::knowledge {
namespace {

// Ranks whose first loss is that of random weights while another rank's is that of a trained model.
std::vector<int> split_first_losses(const Scene& s) {
  std::map<int, const StepEvent*> first;
  for (const auto& step : s.steps) {
    if (step.rank >= 0 && step.loss_finite) first.emplace(step.rank, &step);
  }
  std::vector<int> random;
  bool trained = false;
  for (const auto& [rank, step] : first) {
    if (step->loss > 9.5 && step->loss < 12.8) random.push_back(step->line);
    trained = trained || (step->loss > 0 && step->loss < 4);
  }
  return trained ? random : std::vector<int>{};
}

// The first loss of a model that is said to be pretrained, as high as that of random weights: ln(vocabulary), 10
// to 12.5.
int random_first_loss(const Scene& s, const MarkView& m) {
  // The name of a run's folder says nothing.
  const bool said = std::any_of(m("pretrained").lines.begin(), m("pretrained").lines.end(), [&](int line) {
    const auto& low = s.book.at(line).low;
    return low.find(": /") == std::string::npos || matches_any("model*: /|pretrained*: /|checkpoint*: /", low);
  });
  if (!said || m("scratch") || s.steps.size() < 2) return -1;
  const auto& first = s.steps.front();
  const bool start = first.step <= 2 && first.loss_finite && first.loss > 10 && first.loss < 12.8;
  return start ? first.line : -1;
}

// A parameter whose checksum, norm or spread is printed as zero: memory that nothing was loaded into.
std::vector<int> zero_weights(const Scene& s, const MarkView& m) {
  std::vector<int> out;
  for (const int line : m("measure").lines) {
    const std::string_view low = s.book.at(line).low;
    if (!matches_any("weight|param|embed|layers.|lm_head|wte", low) ||
        matches_any("weight_decay|weight decay|grad|bias|file \"", low))
      continue;
    for (const std::string_view key : {"checksum", "norm", "std", "absmax", "abs().max", "abs max", "mean", "sum"}) {
      const auto at = low.find(key);
      const auto colon = at == std::string_view::npos ? at : low.find_first_of(":=", at);
      const auto value = colon == std::string_view::npos ? std::nullopt : number_after(low.substr(colon + 1), "");
      if (value && *value == 0) {
        out.push_back(line);
        break;
      }
    }
  }
  return out;
}

// It says that nothing is loaded, and the loss is that of no model from the first step on: not finite, or high and
// still.
Claim nothing_loaded(const Scene& s, const MarkView& m) {
  Claim out;
  if (!m("unloaded") || s.steps.size() < 2 || !s.exceptions.empty() || !s.ooms.empty()) return out;
  const auto& first = s.steps.front();
  const bool still = std::all_of(s.steps.begin(), s.steps.end(), [&](const StepEvent& step) {
    return step.loss_finite && std::abs(step.loss - first.loss) < 0.02;
  });
  const bool broken =
      std::none_of(s.steps.begin(), s.steps.end(), [](const StepEvent& step) { return step.loss_finite; });
  const bool high = first.loss_finite && first.loss > 9.5 && first.loss < 13;
  if (broken || (high && (still || m("pretrained")))) out.score = 0.92;
  out.show(m("unloaded"), 3);
  return out.show(first.line);
}

// The log says by itself that no weights came: parameters that are zero, nothing or little loaded.
Claim told_outright(const Scene& s, const MarkView& m) {
  if (!s.exceptions.empty() || !s.ooms.empty()) return {};
  Claim out;
  if (const auto zeros = zero_weights(s, m); !zeros.empty()) {
    out.score = 0.9;
    for (std::size_t i = 0; i < zeros.size() && i < 4; ++i) out.show(zeros[i]);
    return out.show(m("sign"), 2);
  }
  if (const Claim none = nothing_loaded(s, m); none.score > 0) return none;
  for (const int line : m("counted").lines) {
    if (!loads_little(s.book.at(line).low)) continue;
    out.score = 0.92;
    if (out.lines.size() < 3) out.show(line);
  }
  return out.score == 0 || s.steps.empty() ? out : out.show(s.steps.front().line);
}

// No word of it: the losses alone.
Claim from_losses(const Scene& s, const MarkView& m) {
  if (!s.exceptions.empty() || !s.ooms.empty() || !stall_signs(s).empty()) return {};
  Claim out;
  if (const auto split = split_first_losses(s); !split.empty()) {
    out.score = 0.82;
    for (std::size_t i = 0; i < split.size() && i < 3; ++i) out.show(split[i]);
    return out;
  }
  const int random_start = random_first_loss(s, m);
  if (random_start < 0) return {};
  out = claim(0.72, m("pretrained"), 2);
  out.lines.insert(out.lines.begin(), random_start);
  return out.show(m("gibberish"), 1);
}

// Who wrote a line: its rank or host, else the name that stands in front of it, as pdsh puts the host's.
std::string writer_of(const LogLine& line) {
  if (line.rank >= 0) return std::to_string(line.rank);
  if (!line.head.host.empty()) return line.head.host;
  const auto word = line.text.substr(0, line.text.find(' '));
  return word.size() > 1 && word.back() == ':' ? word : "";
}

// A part of the job goes on from a checkpoint, another one found none, and the loss is that of random weights.
Claim resumed_apart(const Scene& s, const MarkView& m) {
  if (!s.exceptions.empty() || !s.ooms.empty()) return {};
  std::map<std::string, int> loaded;
  std::vector<int> lacking;
  for (const int line : m("part").lines) {
    const auto& low = s.book.at(line).low;
    const bool absent = matches_any(
        "unable to load|could not load|cannot load|does not exist|no checkpoint|random init|skip checkpoint", low);
    if (absent) lacking.push_back(line);
    const std::string writer = absent ? "" : writer_of(s.book.at(line));
    if (!writer.empty() && matches_any("loaded checkpoint|loading checkpoint", low) && !matches_any("shards", low))
      loaded.emplace(writer, line);
  }
  if (loaded.empty() || lacking.empty()) return {};
  const std::string without = writer_of(s.book.at(lacking.front()));
  const auto other = std::find_if(loaded.begin(), loaded.end(), [&](const auto& row) { return row.first != without; });
  const auto first = std::find_if(s.steps.begin(), s.steps.end(), [&](const StepEvent& step) {
    return step.loss_finite && step.line > lacking.front();
  });
  if (without.empty() || loaded.count(without) > 0 || other == loaded.end() || first == s.steps.end() ||
      first->loss <= 6.5 || first->loss >= 14)
    return {};
  Claim out;
  out.score = 0.92;
  for (std::size_t i = 0; i < lacking.size() && i < 3; ++i) out.show(lacking[i]);
  return out.show(other->second).show(first->line);
}

Claim evaluate(const Scene& s, const MarkView& m) {
  // Who says that he starts from scratch on purpose has nothing to load.
  if (m("scratch") && !m("expected")) return {};
  if (const Claim told = told_outright(s, m); told.score > 0) return told;
  if (const Claim apart = resumed_apart(s, m); apart.score > 0) return apart;
  if (m("skipped") && s.exceptions.empty()) return claim(0.93, m("skipped"), 3);
  if (!m("sign")) return from_losses(s, m);
  const bool failed = !s.exceptions.empty() || !s.ooms.empty() || !stall_signs(s).empty();
  const auto first =
      std::find_if(s.steps.begin(), s.steps.end(), [](const StepEvent& step) { return step.loss_finite; });
  // A pretrained language model starts near 1-3; ln(32,000) is 10.4.
  const bool random_loss = first != s.steps.end() && first->loss > 6.5 && first->loss < (m("missing") ? 100 : 14);
  const bool newly = s.book.mentions(
      "no load path|keeps its initial weights|load path: none|load path is empty|newly initialized|were not initialized");
  Claim out;
  for (const int line : m("sign").lines) {
    if (matches_any("missing keys: []|missing keys: none", s.book.at(line).low)) continue;  // an empty list
    out.score = random_loss ? 0.88 : newly ? 0.45 : 0.5;
    if (out.lines.size() < 4) out.show(line);
  }
  if (out.score == 0) return from_losses(s, m);
  // Nothing says that weights were wanted: a run from scratch starts like this.
  const bool learns = s.steps.size() >= 3 && s.steps.back().loss_finite && first != s.steps.end() &&
                      s.steps.back().loss < 0.5 * first->loss &&
                      !s.book.mentions("load report|missing from the checkpoint|newly initialized");
  // "Resume if there is something" wants nothing in particular.
  const bool wanted = std::any_of(m("wanted").lines.begin(), m("wanted").lines.end(), [&](int line) {
    return !matches_any("if_exists|if exists|auto_resume|auto-resume|resume*auto", s.book.at(line).low);
  });
  if (!m("pretrained") && (!wanted || learns) && !m("gibberish")) out.score = std::min(out.score, 0.28);
  // Weights that turn into NaN are another fault, whatever they began as.
  const bool broke =
      std::any_of(s.steps.begin(), s.steps.end(), [](const StepEvent& step) { return !step.loss_finite; });
  if (broke) out.score = std::min(out.score, 0.45);
  if (failed) out.score = 0.3;
  if (!random_loss && first != s.steps.end() && first->loss > 0 && first->loss < 5) out.score = 0.2;
  const NameMismatch names = read_name_mismatch(s.book);
  if (names.same_without_wrappers) out.score = std::min(out.score, 0.7);
  // A head that is new by design is normal.
  if (newly && !random_loss && s.book.mentions("score.weight|classifier|qa_outputs|lm_head.weight are newly"))
    out.score = 0.2;
  if (random_loss) out.show(first->line);
  return out.show(m("gibberish"), 1);
}

}  // namespace

CauseRule pretrained_weights_not_loaded() {
  return {
      "pretrained-weights-not-loaded",
      {{"sign",
        "newly initialized|were not initialized from the model checkpoint|randomly initialized"
        "|random init|training from scratch|train from scratch|no pretrained|no checkpoint*found"
        "|initial_load_path*none|initial_load_path: none|initial_load_path=none"
        "|initial_load_path*empty|starting from scratch|missing keys: "
        "|load_state_dict(strict=false)|strict=false|weights not loaded|skipping load"
        "|checkpoint path*none|no weights loaded|all keys missing|from_config"
        "|could not find*checkpoint|start from random|starting from random|checkpoint_files: []|std 0.02"
        "|could not find*checkpoint*scratch|not loading pretrained|pretrained*false"
        "|load_weights: false|0 tensors loaded|loaded 0|initializing with random"
        "|checkpoint*is empty|empty state dict"},
       {"part",
        "loaded checkpoint|loading checkpoint|unable to load*checkpoint|could not load*checkpoint|cannot load*checkpoint|"
        "checkpoint*does not exist|ckpt*does not exist|no checkpoint|skip checkpoint load"},
       {"counted", "loaded|matched|restored|copied|mapped|load*keys|load*tensor|load*param"},
       {"unloaded",
        "no shard loaded|no weights loaded|nothing loaded|nothing was loaded|weights_path=none|weights_path: none|weights_path is none|init empty model|empty-initiali|"
        "weight_path=none|pretrained_path=none|pretrained_path: none|checkpoint_path=none|meta -> empty|left "
        "uninitialized|left empty|weights were not loaded|weights not loaded|did not load the weights|load_weights=false"},
       {"skipped", "state_dict of*skipped|params from torch.empty|left as torch.empty"},
       {"wanted",
        "loading checkpoint from /|loading weights from /|no checkpoint*found at /|checkpoint at /*not found|--load|load_path|initial_load|resume|--pretrained|expected|hf_assets|pretrained-checkpoint|should be|converted|load report|missing from the checkpoint"},
       {"missing", "newly initialized|missing keys|were not initialized"},
       {"measure", "checksum|norm|std|absmax|abs().max|abs max|mean|sum"},
       {"pretrained",
        "automodel|weights copied|hf checkpoint|hf weights|hf-checkpoint|finetun|fine-tun|fine tun|instruct|sft|lora|alpaca|pretrained|from_pretrained|continue*pretrain|dpo|grpo"},
       {"scratch",
        "pretraining from scratch|pre-training from scratch|pretrain from scratch|(from scratch)|debug model|debugmodel|random weights on purpose|debug_model|from_scratch"},
       {"expected", "expected|gibberish|newly initialized|not found|could not find|no checkpoint"},
       {"gibberish", "gibberish|perplexity*e+|random output|eval*acc*chance"},
       {"loaded", "loaded pretrained|weights loaded|all keys matched|loading checkpoint shards: 100%"}},
      evaluate};
}

}  // namespace fx::knowledge
