#include "knowledge/log/train_progress.h"

#include <cmath>
#include <optional>

#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

// The value behind "loss": 0.882, nan, inf. Skips words between ("loss mse:", "loss/train/total:").
std::optional<double> loss_in(std::string_view low) {
  for (auto at = low.find("loss"); at != std::string_view::npos; at = low.find("loss", at + 1)) {
    // loss_scale, loss_impl and the like are settings.
    std::string_view rest = low.substr(at + 4, 40);
    if (rest.substr(0, 6) == "_scale" || rest.substr(0, 6) == " scale" || rest.substr(0, 5) == "_impl") continue;
    if (rest.substr(0, 1) == "-" && rest.size() > 1 && rest[1] >= 'a' && rest[1] <= 'z') continue;  // part of a name
    const auto value = rest.find_first_of(":=| ");
    if (value == std::string_view::npos) continue;
    rest.remove_prefix(value);
    while (!rest.empty() && (rest.front() == ':' || rest.front() == '=' || rest.front() == '|' || rest.front() == ' ' ||
                             rest.front() == '\'')) {
      rest.remove_prefix(1);
    }
    if (rest.substr(0, 3) == "nan") return std::nan("");
    if (rest.substr(0, 3) == "inf" || rest.substr(0, 4) == "-inf") return std::numeric_limits<double>::infinity();
    if (const auto number = number_after(rest, "")) return number;
    // "loss train: 3.8": the word says which loss.
    const auto word = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz_/");
    const bool named = word != std::string_view::npos && word > 0 && (rest[word] == ':' || rest[word] == '=');
    if (const auto number = named ? number_after(rest.substr(word + 1), "") : std::nullopt) return number;
  }
  return std::nullopt;
}

std::optional<long long> step_in(std::string_view low) {
  for (const std::string_view key :
       {"\"step\":", "step=", "step:", "step ", "iter ", "iteration ", "global_step:", "batch "}) {
    if (const auto number = integer_after(low, key); number && *number >= 0) return number;
  }
  return std::nullopt;
}

}  // namespace

const std::vector<Mark>& progress_marks() {
  static const std::vector<Mark> marks{
      {"loss", "loss"},
      {"step", "step |step:|step=|\"step\"|iter |iteration_|it/s|s/it"},
  };
  return marks;
}

std::vector<StepEvent> read_steps(const LogBook& book) {
  std::vector<StepEvent> out;
  for (const int index : book.find("core", "loss").lines) {
    const auto& line = book.at(index);
    StepEvent event;
    event.line = index;
    event.rank = line.rank;
    const auto body = line.low_body();
    const auto loss = loss_in(body);
    if (!loss) continue;
    event.has_loss = true;
    event.loss = *loss;
    event.loss_finite = std::isfinite(*loss);
    event.step = step_in(body).value_or(-1);
    out.push_back(event);
  }
  return out;
}

}  // namespace fx::knowledge
