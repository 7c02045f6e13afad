#include "config/load.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "schema/reader.h"

extern char** environ;  // POSIX leaves the declaration to us

namespace polybox::config {
namespace {

using Complaint = std::optional<std::string>;

Complaint CheckText(const Setting& setting, const std::string& text) {
  if (!setting.choices.empty()) return schema::OneOf(setting.choices)(text);
  return setting.check == nullptr ? std::nullopt : setting.check(text);
}

Complaint CheckNumber(const Setting& setting, std::int64_t number) {
  if (number >= setting.smallest && number <= setting.largest) return std::nullopt;
  if (setting.largest == std::numeric_limits<std::int64_t>::max()) {
    return fmt::format("expected a whole number of at least {}", setting.smallest);
  }
  return fmt::format("expected a whole number from {} to {}", setting.smallest, setting.largest);
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// For sizes and times.
template <typename T>
Complaint CheckUnit(const Setting& setting, T value) {
  if (setting.smallest == 0 || value != T{}) return std::nullopt;
  return "expected more than nothing";
}

/// Reads the text of a flag or an environment variable into a setting. Returns what is allowed when
/// it is not.
class TextAssigner {
 public:
  TextAssigner(Settings& settings, const Setting& setting, const std::string& text)
      : settings_(settings), setting_(setting), text_(text) {}

  Complaint operator()(std::string Settings::* member) const {
    if (auto complaint = CheckText(setting_, text_)) return complaint;
    settings_.*member = text_;
    return std::nullopt;
  }
  Complaint operator()(std::int64_t Settings::* member) const {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    const bool whole = error == std::errc() && end == text_.data() + text_.size();
    // A value that is out of range on purpose asks for the sentence that says what is allowed.
    if (auto complaint = CheckNumber(setting_, whole ? number : setting_.smallest - 1)) {
      return complaint;
    }
    settings_.*member = number;
    return std::nullopt;
  }
  Complaint operator()(bool Settings::* member) const {
    if (text_ != "true" && text_ != "false") return "expected true or false";
    settings_.*member = text_ == "true";
    return std::nullopt;
  }
  Complaint operator()(Bytes Settings::* member) const {
    return Unit(member, ParseBytes(setting_.bare_number ? WithUnit(text_, "B") : text_));
  }
  Complaint operator()(Duration Settings::* member) const {
    return Unit(member, ParseDuration(setting_.bare_number ? WithUnit(text_, "s") : text_));
  }
  Complaint operator()(std::vector<std::string> Settings::* member) const {
    if (text_.empty()) return "expected some text";
    if (auto complaint = CheckText(setting_, text_)) return complaint;
    (settings_.*member).push_back(text_);
    return std::nullopt;
  }

 private:
  template <typename T>
  Complaint Unit(T Settings::* member, const Result<T>& parsed) const {
    if (!parsed.ok()) return parsed.error().message();
    if (auto complaint = CheckUnit(setting_, *parsed)) return complaint;
    settings_.*member = *parsed;
    return std::nullopt;
  }

  Settings& settings_;
  const Setting& setting_;
  const std::string& text_;
};

/// Reads a setting from the file, with the reader's own complaints about it.
class FileAssigner {
 public:
  FileAssigner(Settings& settings, const Setting& setting, schema::Reader& reader)
      : settings_(settings), setting_(setting), reader_(reader) {}

  void operator()(std::string Settings::* member) const {
    reader_.Read(setting_.key, settings_.*member, schema::Need::kOptional,
                 [this](const std::string& text) { return CheckText(setting_, text); });
  }
  void operator()(std::int64_t Settings::* member) const {
    reader_.Read(setting_.key, settings_.*member, schema::Need::kOptional,
                 [this](const std::int64_t& number) { return CheckNumber(setting_, number); });
  }
  void operator()(Bytes Settings::* member) const { Unit(member); }
  void operator()(Duration Settings::* member) const { Unit(member); }
  void operator()(std::vector<std::string> Settings::* member) const {
    reader_.Read(setting_.key, settings_.*member, schema::Need::kOptional,
                 [this](const std::string& text) { return CheckText(setting_, text); });
  }
  template <typename T>
  void operator()(T Settings::* member) const {
    reader_.Read(setting_.key, settings_.*member);
  }

 private:
  template <typename T>
  void Unit(T Settings::* member) const {
    reader_.Read(setting_.key, settings_.*member);
    const Complaint complaint = CheckUnit(setting_, settings_.*member);
    if (complaint) reader_.Conflict(setting_.key, *complaint);
  }

  Settings& settings_;
  const Setting& setting_;
  schema::Reader& reader_;
};

/// A list is written with its separator in the environment, as PATH is; anything else is one item.
std::vector<std::string> EnvironmentItems(const Setting& setting, const std::string& text) {
  if (!std::holds_alternative<std::vector<std::string> Settings::*>(setting.member)) return {text};
  std::vector<std::string> items;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(setting.separator, at), text.size());
    if (end > at) items.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return items;
}

class Loader {
 public:
  Loader() {
    for (const Setting& setting : AllSettings()) loaded_.origins[std::string(setting.key)] = {};
  }

  void ReadFile(const std::string& file) {
    const Result<std::string> text = polybox::ReadFile(file);
    if (!text.ok()) return Complain("read settings: " + text.error().message());
    const Result<schema::Table> table = schema::ParseToml(*text, file);
    if (!table.ok()) return Complain(table.error().message());
    schema::Problems problems(file);
    {
      schema::Reader reader(*table, problems);
      for (const Setting& setting : AllSettings()) {
        if (setting.key == "config") continue;  // a file does not name itself
        std::visit(FileAssigner(loaded_.settings, setting, reader), setting.member);
        if (!reader.Has(setting.key)) continue;
        loaded_.origins[std::string(setting.key)] = {
            Source::kFile, fmt::format("{}:{}", file, reader.LineOf(setting.key))};
      }
    }
    const Status status = problems.ToStatus();
    if (!status.ok()) Complain(status.error().message());
  }

  void ReadEnvironment(const std::map<std::string, std::string>& environment) {
    std::vector<std::string> known;
    for (const Setting& setting : AllSettings()) {
      std::vector<std::string> names = {EnvironmentName(setting)};
      names.insert(names.end(), setting.env.begin(), setting.env.end());
      known.push_back(names[0]);
      for (const std::string& name : names) {
        const auto found = environment.find(name);
        // Empty counts as not set, as it always did for these names.
        if (found == environment.end() || found->second.empty()) continue;
        if (IsServiceLink(found->first, found->second)) continue;
        for (const std::string& text : EnvironmentItems(setting, found->second)) {
          Assign(setting, text, {Source::kEnvironment, name});
        }
        break;
      }
    }
    RefuseUnknown(environment, known);
  }

  void ReadFlags(const std::vector<std::pair<std::string, std::string>>& flags) {
    for (const auto& [key, text] : flags) {
      const Setting* setting = FindSetting(key);
      if (setting != nullptr) Assign(*setting, text, {Source::kFlag, "--" + key});
    }
  }

  Result<Loaded> Finish() && {
    if (complaints_.empty()) return std::move(loaded_);
    return Error(ErrorKind::kInvalid, fmt::format("{}", fmt::join(complaints_, "\n")));
  }

 private:
  void Complain(std::string text) { complaints_.push_back(std::move(text)); }

  void Assign(const Setting& setting, const std::string& text, const Origin& origin) {
    Origin& known = loaded_.origins[std::string(setting.key)];
    // A list grows within one source; a stronger source starts it anew.
    if (known.source != origin.source) {
      if (const auto* list = std::get_if<std::vector<std::string> Settings::*>(&setting.member)) {
        (loaded_.settings.*(*list)).clear();
      }
    }
    known = origin;
    const Complaint complaint =
        std::visit(TextAssigner(loaded_.settings, setting, text), setting.member);
    if (complaint) {
      Complain(
          fmt::format("{} = \"{}\": {}", origin.name, PrintableForQuotes(text, 80), *complaint));
    }
  }

  void RefuseUnknown(const std::map<std::string, std::string>& environment,
                     const std::vector<std::string>& known) {
    // Compared without what all of them share: otherwise every name is near to every other.
    constexpr std::string_view kPrefix = "POLYBOX_";
    std::vector<std::string_view> endings;
    for (const std::string& name : known)
      endings.push_back(std::string_view(name).substr(kPrefix.size()));
    for (const auto& [name, value] : environment) {
      if (!name.starts_with(kPrefix) || IsServiceLink(name, value)) continue;
      if (std::ranges::count(known, name) != 0) continue;
      const std::string_view nearest =
          NearestName(std::string_view(name).substr(kPrefix.size()), endings);
      Complain(fmt::format(
          "environment: unknown setting {}{}", Printable(name, 80),
          nearest.empty() ? "" : fmt::format("; did you mean {}{}?", kPrefix, nearest)));
    }
  }

  Loaded loaded_;
  std::vector<std::string> complaints_;
};

/// The file that a flag or the environment names, else the first usual one that exists.
std::string ChooseFile(const Inputs& inputs) {
  for (auto flag = inputs.flags.rbegin(); flag != inputs.flags.rend(); ++flag) {
    if (flag->first == "config") return flag->second;
  }
  const auto named = inputs.environment.find("POLYBOX_CONFIG");
  if (named != inputs.environment.end() && !named->second.empty()) return named->second;
  for (const std::string& file : inputs.default_files) {
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) return file;
  }
  return "";
}

std::string Lookup(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

/// `$variable/polybox`, else `~/fallback/polybox`.
std::string UserDirectory(const std::map<std::string, std::string>& environment,
                          const std::string& variable, const std::string& fallback) {
  const std::string base = Lookup(environment, variable);
  if (!base.empty() && base[0] == '/') return base + "/polybox";
  std::string home = Lookup(environment, "HOME");
  if (home.empty()) {
    const passwd* entry = ::getpwuid(::geteuid());
    if (entry != nullptr) home = entry->pw_dir;
  }
  return fmt::format("{}/{}/polybox", home, fallback);
}

void FillDirectories(Settings& settings, const std::map<std::string, std::string>& environment) {
  const bool root = ::geteuid() == 0;
  if (settings.cache_dir.empty()) {
    settings.cache_dir =
        root ? "/var/cache/polybox" : UserDirectory(environment, "XDG_CACHE_HOME", ".cache");
  }
  if (settings.packages_dir.empty()) {
    settings.packages_dir =
        root ? "/var/lib/polybox/packages"
             : UserDirectory(environment, "XDG_DATA_HOME", ".local/share") + "/packages";
  }
  // Installers and jails work in directories of their own.
  for (std::string* directory :
       {&settings.cache_dir, &settings.packages_dir, &settings.compile_cache_dir}) {
    std::error_code ignored;
    if (!directory->empty()) *directory = std::filesystem::absolute(*directory, ignored).string();
  }
}

}  // namespace

bool IsServiceLink(const std::string& name, const std::string& value) {
  // NAME_SERVICE_HOST, NAME_SERVICE_PORT, NAME_SERVICE_PORT_HTTP
  if (name.ends_with("_SERVICE_HOST") || name.find("_SERVICE_PORT") != std::string::npos) {
    return true;
  }
  // NAME_PORT=tcp://10.0.0.1:80
  const bool url =
      value.starts_with("tcp://") || value.starts_with("udp://") || value.starts_with("sctp://");
  if (url && name.ends_with("_PORT")) return true;
  // NAME_PORT_80_TCP, NAME_PORT_80_TCP_ADDR
  const std::size_t port = name.find("_PORT_");
  if (port == std::string::npos) return false;
  const std::string_view rest = std::string_view(name).substr(port + 6);
  return IsNumber(rest.substr(0, rest.find('_')));
}

Result<Loaded> Load(const Inputs& inputs) {
  Loader loader;
  const std::string file = ChooseFile(inputs);
  if (!file.empty()) loader.ReadFile(file);
  loader.ReadEnvironment(inputs.environment);
  loader.ReadFlags(inputs.flags);
  POLYBOX_ASSIGN_OR_RETURN(Loaded loaded, std::move(loader).Finish());
  loaded.settings.config = file;
  FillDirectories(loaded.settings, inputs.environment);
  return loaded;
}

Inputs ProcessInputs(std::vector<std::pair<std::string, std::string>> flags) {
  Inputs inputs;
  inputs.flags = std::move(flags);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      inputs.environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  inputs.default_files = {
      UserDirectory(inputs.environment, "XDG_CONFIG_HOME", ".config") + "/polybox.toml",
      "/etc/polybox/polybox.toml"};
  return inputs;
}

std::int64_t QueueLength(const Loaded& loaded) {
  const bool asked = loaded.OriginOf("queue").source != Source::kDefault;
  if (asked || loaded.OriginOf("max-concurrent").name != "SANDBOX_MAX_CONCURRENT") {
    return loaded.settings.queue;
  }
  return 0;
}

std::string ListenAddress(const Loaded& loaded) {
  const Settings& settings = loaded.settings;
  const Origin& port = loaded.OriginOf("port");
  if (settings.port == 0 || port.source < loaded.OriginOf("listen").source) return settings.listen;
  return fmt::format("{}:{}", settings.listen.substr(0, settings.listen.rfind(':')), settings.port);
}

}  // namespace polybox::config
