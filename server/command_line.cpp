#include "server/command_line.h"

#include <CLI/CLI.hpp>
#include <string>

#include "base/file.h"
#include "server/commands/call.h"
#include "server/commands/docs.h"
#include "server/commands/serve.h"
#include "server/commands/stdio.h"
#include "server/lean_catalogue.h"
#include "server/people_command_line.h"
#include "server/runs/supervisor.h"
#include "server/version.h"
#include "tools/catalogue.h"

namespace fx::server {
namespace {

struct Options {
  std::string data;
  std::string tool, file;
  std::string format = "mcp";
  std::string run_folder;
  bool lean = false;
  ServeOptions serve;
  std::string docs_action, docs_folder;
};

void add_script_commands(CLI::App& app, Options& options, Chosen& chosen) {
  auto* call = app.add_subcommand("call", "Call a tool with JSON arguments and print its JSON answer");
  call->add_option("tool", options.tool, "Name of the tool")->required();
  call->add_option("file", options.file, "File with the arguments (default: standard input)");
  call->callback([&] {
    chosen = [&](Session& session) {
      return call_command(session.catalogue, session.services, options.tool, options.file);
    };
  });
  auto* tools = app.add_subcommand("tools", "Print the tools and their schemas");
  tools->add_option("--format", options.format, "mcp, mcp-lean, openai or openapi")
      ->check(CLI::IsMember({"mcp", "mcp-lean", "openai", "openapi"}));
  tools->callback([&] { chosen = [&](Session& session) { return tools_command(session.catalogue, options.format); }; });
}

void add_server_commands(CLI::App& app, Options& options, Chosen& chosen) {
  auto* serve = app.add_subcommand("serve", "Serve the tools over HTTP (REST and MCP)");
  serve->add_option("--host", options.serve.host, "Address to listen on")->capture_default_str();
  serve->add_option("--port", options.serve.port, "Port; 0 picks a free one")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  serve->add_option("--allow-host", options.serve.allow_hosts, "Further name under which clients may reach us");
  serve->add_option("--token-file", options.serve.token_file, "File with the bearer token (else $FSDP_EXPERT_TOKEN)");
  serve->callback([&] {
    chosen = [&](Session& session) { return serve_command(session.catalogue, session.services, options.serve); };
  });
  auto* stdio = app.add_subcommand("stdio", "Serve the tools over standard input and output (MCP)");
  stdio->add_flag("--lean", options.lean, "One tool for all: 43 tokens in a conversation instead of thousands");
  stdio->callback([&] {
    chosen = [&](Session& session) {
      const auto lean = lean_catalogue(session.catalogue);
      return stdio_command(options.lean ? lean : session.catalogue, session.services);
    };
  });
  auto* watch = app.add_subcommand("supervise", "Watch one run; started by launch_run")->group("");
  watch->add_option("folder", options.run_folder, "Folder of the run")->required();
  watch->callback([&] { chosen = [&](Session&) { return supervise(options.run_folder); }; });
}

// For those who change the project: not part of the help, which is itself one of the pages.
void add_docs_command(CLI::App& app, Options& options, Chosen& chosen) {
  auto* docs = app.add_subcommand("docs", "Write or check the reference pages")->group("");
  docs->add_option("action", options.docs_action)->required()->check(CLI::IsMember({"write", "check"}));
  docs->add_option("folder", options.docs_folder)->required();
  docs->callback([&] {
    chosen = [&](Session& session) {
      const auto pages =
          reference_pages(session.catalogue, app.get_formatter()->make_help(&app, kProgram, CLI::AppFormatMode::All));
      return options.docs_action == "write" ? write_docs_command(pages, options.docs_folder)
                                            : check_docs_command(pages, options.docs_folder);
    };
  });
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app{"Validates, plans, diagnoses and runs FSDP training", kProgram};
  app.set_version_flag("--version", std::string(kProgram) + " " + kVersion);
  app.require_subcommand(1);
  Options options;
  PeopleOptions people;
  Chosen chosen;
  add_script_commands(app, options, chosen);
  add_server_commands(app, options, chosen);
  add_people_commands(app, people, chosen);
  add_docs_command(app, options, chosen);
  for (auto* command : app.get_subcommands({})) {
    command->add_option("--data", options.data, "Data folder (else $FSDP_EXPERT_HOME, else the XDG data folder)");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto catalogue = tools::make_catalogue();
  Services services(data_folder(options.data));
  Session session{catalogue, services};
  return chosen(session);
}

}  // namespace fx::server
