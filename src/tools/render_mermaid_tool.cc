// render_mermaid: draws a Mermaid diagram into a file of the workspace.
#include "tools/render_call.h"
#include "tools/tool.h"

namespace polybox::tools {

Tool RenderMermaidTool() {
  return MakeTool<RenderArguments, RenderResult>(
      {.name = "render_mermaid",
       .title = "Draw a Mermaid diagram",
       .description = "Draws a Mermaid diagram in the jail and writes the picture. An existing "
                      "file must have been Read before.",
       .group = "render",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = true, .open_world = true}},
      [](const Context& context, const RenderArguments& arguments) {
        return Render("render_mermaid", context, arguments);
      });
}

}  // namespace polybox::tools
