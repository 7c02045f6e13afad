// The console: a page for people at GET /, and its files below /console/. They are compiled in from
// console/ and are the same on every server. They say nothing about a server, so they need no
// token. The page then asks the other doors, which check tokens as for every client.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"
#include "http/exchange.h"

namespace polybox::http {

struct DoorRow;
extern const DoorRow kConsoleDoor;

/// Returns the files of console/, which are compiled into the binary.
std::span<const EmbeddedFile> ConsoleFiles();
/// Returns the media type of a file by its ending; "" for an ending that the console does not use.
std::string ConsoleType(std::string_view name);

/// Returns the page, for the door of GET /.
Response ConsolePage(const Request& request);
/// Makes the door for the files of the page.
Door MakeConsoleDoor();

}  // namespace polybox::http
