#include "jail/spec.h"

#include <filesystem>
#include <glob.h>
#include <unistd.h>

namespace polybox::jail {
namespace {

namespace fs = std::filesystem;

// On a merged-/usr host these are links into /usr; on other hosts they are directories.
constexpr const char* kSystemRoots[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

// The files of /etc that programs need. Guests do not see the rest of /etc.
constexpr const char* kSystemFiles[] = {
    "/etc/alternatives",  // links like awk and cc go through it
    "/etc/ld.so.cache",   // the loader finds libraries by it
    "/etc/ld.so.conf",   "/etc/ld.so.conf.d",
    "/etc/localtime",  // the time zone
    "/etc/ssl/certs",  // the public certificates; never /etc/ssl/private
    "/etc/mime.types",   "/etc/protocols",    "/etc/services",
};

// The device nodes that every guest sees.
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                    "/dev/urandom"};

}  // namespace

bool IsDevice(const Tree& tree) {
  return tree.target.starts_with("/dev/");
}

void ShowPath(Spec& spec, const std::string& path) {
  glob_t found{};
  if (::glob(path.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string match = found.gl_pathv[i];
      std::error_code error;
      const bool is_directory = fs::is_directory(match, error);
      if (!error)
        spec.trees.push_back({.source = match, .target = match, .is_file = !is_directory});
    }
  }
  ::globfree(&found);
}

Places PlacesIn(const Spec& spec, const std::string& home) {
  Places places;
  if (HasNamespaces(spec.grade)) return places;
  places.work = home + "/sandbox";
  places.tmp = home + "/tmp";
  for (const Tree& tree : spec.trees) {
    if (tree.target == kPackagesDirectory) places.packages = tree.source;
  }
  return places;
}

Spec HostSpec() {
  Spec spec;
  spec.privileged = ::geteuid() == 0;
  ShowPath(spec, "/usr");
  for (const char* root : kSystemRoots) {
    std::error_code error;
    if (fs::is_symlink(root, error)) {
      spec.symlinks[root] = fs::read_symlink(root, error).string();
    } else {
      ShowPath(spec, root);
    }
  }
  for (const char* file : kSystemFiles) ShowPath(spec, file);
  for (const char* device : kDevices) ShowPath(spec, device);
  return spec;
}

}  // namespace polybox::jail
