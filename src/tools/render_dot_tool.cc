// render_dot: draws a diagram in the language of Graphviz into a file of the workspace.
#include "tools/render_call.h"
#include "tools/tool.h"

namespace polybox::tools {

Tool RenderDotTool() {
  return MakeTool<RenderArguments, RenderResult>(
      {.name = "render_dot",
       .title = "Draw a Graphviz diagram",
       .description = "Draws a diagram in the language of Graphviz in the jail and writes the "
                      "picture. An existing "
                      "file must have been Read before.",
       .group = "render",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = true, .open_world = true}},
      [](const Context& context, const RenderArguments& arguments) {
        return Render("render_dot", context, arguments);
      });
}

}  // namespace polybox::tools
