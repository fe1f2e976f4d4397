#include "engine/comm/rendezvous.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace fx::engine {
namespace {

Result<int> environment_integer(const char* name, int fallback, int low, int high) {
  const char* text = std::getenv(name);
  if (text == nullptr) return fallback;
  const auto value = to_integer(text);
  if (!value || *value < low || *value > high) {
    return invalid_argument(
        name,
        "\"" + quote_input(text, 40) + "\" is not a number from " + std::to_string(low) + " to " + std::to_string(high),
        "start the ranks with fsdp-expert, torchrun --no-python or srun");
  }
  return static_cast<int>(*value);
}

}  // namespace

Result<Rendezvous> rendezvous_from_environment() {
  Rendezvous meeting;
  std::vector<Error> errors;
  const auto read = [&](const char* name, int& out, int low, int high) {
    auto value = environment_integer(name, out, low, high);
    if (value) {
      out = *value;
    } else {
      errors.push_back(value.error());
    }
  };
  read("WORLD_SIZE", meeting.world_size, 1, 1 << 20);
  read("RANK", meeting.rank, 0, (1 << 20) - 1);
  read("MASTER_PORT", meeting.master_port, 1, 65535);
  read("FX_TIMEOUT_S", meeting.timeout_s, 1, 86400);
  if (const char* address = std::getenv("MASTER_ADDR"); address != nullptr && *address != '\0')
    meeting.master_addr = address;
  const char* hosted = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  meeting.store_is_hosted = hosted != nullptr && std::string_view(hosted) == "True";
  if (meeting.rank >= meeting.world_size) {
    errors.push_back(invalid_argument("RANK", "rank " + std::to_string(meeting.rank) +
                                                  " does not exist in a world of " +
                                                  std::to_string(meeting.world_size)));
  }
  if (!errors.empty()) return combine(std::move(errors));
  return meeting;
}

}  // namespace fx::engine
