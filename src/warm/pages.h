// Large pages for the memory of a zygote. Called in the zygote, before it forks.
#pragma once

namespace polybox::warm {

/// Makes large pages of as much of the process's memory as possible. A fork and the end of the
/// forked process cost time for each page. `maps` is the process's file of /proc.
void UseLargePages(int maps);

}  // namespace polybox::warm
