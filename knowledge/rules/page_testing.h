// The examples of the rules' pages, ready to be run.
#pragma once

#include <string>
#include <vector>

#include "knowledge/formats/input.h"
#include "knowledge/store/page.h"

namespace fx::knowledge {

struct PageFile {
  std::string path;
  Page page;
};
std::vector<PageFile> rule_page_files();
std::string expectation(const Example& example, const std::string& key);  // "" when absent
Input input_of(const Example& example);

}  // namespace fx::knowledge
