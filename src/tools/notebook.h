// Shows a Jupyter notebook as its cells and outputs instead of its JSON. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/answer.h"

namespace polybox::tools {

struct Notebook {
  /// All cells with their text outputs.
  std::string text;
  /// Pictures of the outputs, at most kMostImages.
  std::vector<ImageBlock> images;
  std::size_t cells = 0;
  std::size_t left_out_images = 0;

  /// More pictures would fill the context of a model.
  static constexpr std::size_t kMostImages = 10;
};

/// Reads the JSON of a notebook. Fails if it is none.
Result<Notebook> ReadNotebook(std::string_view content);

}  // namespace polybox::tools
