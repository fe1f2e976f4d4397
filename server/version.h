// What we call ourselves towards clients.
#pragma once

namespace fx::server {

inline constexpr const char* kProgram = "fsdp-expert";
inline constexpr const char* kVersion = FX_VERSION;  // set by CMake from the project's version

}  // namespace fx::server
