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
#include "net/address.h"
#include "schema/reader.h"

extern char** environ;  // POSIX requires programs to declare it

namespace polybox::config {
namespace {

using Complaint = std::optional<std::string>;

/// Returns what is allowed if the text of a setting is not. A setting with choices needs no other
/// check.
Complaint CheckText(const Setting& setting, const std::string& text) {
  if (!setting.choices.empty()) return schema::OneOf(setting.choices)(text);
  return setting.check == nullptr ? std::nullopt : setting.check(text);
}

/// Returns what is allowed if the number is out of range. The message omits an upper bound that is
/// only the largest number of the type.
Complaint CheckNumber(const Setting& setting, std::int64_t number) {
  if (number >= setting.smallest && number <= setting.largest) return std::nullopt;
  if (setting.largest == std::numeric_limits<std::int64_t>::max()) {
    return fmt::format("expected a whole number of at least {}", setting.smallest);
  }
  return fmt::format("expected a whole number from {} to {}", setting.smallest, setting.largest);
}

/// Returns whether the text is a sequence of decimal digits, without sign or space.
bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns a complaint when a size or a time is 0 and the setting does not allow 0.
template <typename T>
Complaint CheckUnit(const Setting& setting, T value) {
  if (setting.smallest == 0 || value != T{}) return std::nullopt;
  return "expected more than nothing";
}

/// Assigns the text of a flag or an environment variable to a setting. Returns what is allowed when
/// the text is not.
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
    // A text that is no number is checked as an out-of-range value, to get the message about what
    // is allowed.
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
    return Unit(member, ParseTypedBytes(text_));
  }
  Complaint operator()(Duration Settings::* member) const {
    return Unit(member, ParseTypedDuration(text_));
  }
  /// Adds one item to the list. The caller has emptied the list if it came from a source with less
  /// precedence.
  Complaint operator()(std::vector<std::string> Settings::* member) const {
    if (text_.empty()) return "expected some text";
    if (auto complaint = CheckText(setting_, text_)) return complaint;
    (settings_.*member).push_back(text_);
    return std::nullopt;
  }

 private:
  template <typename T>
  /// Assigns a size or a time after its check.
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

/// Assigns a value of the settings file. The schema reader records complaints itself.
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
  /// Reads a size or a time. The reader has checked its form, and this function checks that it is
  /// not 0 where 0 is not allowed.
  void Unit(T Settings::* member) const {
    reader_.Read(setting_.key, settings_.*member, schema::Need::kOptional, schema::Bare::kCounts);
    // An absent key keeps the default, which may be 0 for "not set".
    if (!reader_.Has(setting_.key)) return;
    const Complaint complaint = CheckUnit(setting_, settings_.*member);
    if (complaint) reader_.Conflict(setting_.key, *complaint);
  }

  Settings& settings_;
  const Setting& setting_;
  schema::Reader& reader_;
};

/// Splits a list at its separator, as in PATH. Any other value is one item.
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

/// Merges the sources of settings. The caller reads them in the order of their precedence, the
/// weakest first, because a later value replaces an earlier one. Complaints are collected, so that
/// an operator sees all mistakes at once.
class Loader {
 public:
  /// Every setting has an origin from the beginning, so that OriginOf() finds each.
  Loader() {
    for (const Setting& setting : AllSettings()) loaded_.origins[std::string(setting.key)] = {};
  }

  /// Reads the settings file. An unreadable file is remembered and reported by Finish().
  void ReadFile(const std::string& file) {
    const Result<std::string> text = polybox::ReadFile(file);
    if (!text.ok()) {
      unreadable_ = Error(text.error().kind(), "read settings: " + text.error().message());
      return;
    }
    const Result<schema::Table> table = schema::ParseToml(*text, file);
    if (!table.ok()) return Complain(table.error().message());
    schema::Problems problems(file);
    {
      schema::Reader reader(*table, problems);
      for (const Setting& setting : AllSettings()) {
        if (setting.key == "config") continue;  // a settings file cannot name another
        std::visit(FileAssigner(loaded_.settings, setting, reader), setting.member);
        if (!reader.Has(setting.key)) continue;
        loaded_.origins[std::string(setting.key)] = {
            Source::kFile, fmt::format("{}:{}", file, reader.LineOf(setting.key))};
      }
    }
    const Status status = problems.ToStatus();
    if (!status.ok()) Complain(status.error().message());
  }

  /// Each setting takes its own variable, else the first of its other names that is set and valid.
  /// POLYBOX_ names of no setting are refused.
  void ReadEnvironment(const std::map<std::string, std::string>& environment) {
    std::vector<std::string> known;
    for (const Setting& setting : AllSettings()) {
      std::vector<std::string> names = {EnvironmentName(setting)};
      names.insert(names.end(), setting.env.begin(), setting.env.end());
      known.push_back(names[0]);
      for (const std::string& name : names) {
        const auto found = environment.find(name);
        // An empty variable counts as not set, as these names have always worked.
        if (found == environment.end() || found->second.empty()) continue;
        if (IsServiceLink(found->first, found->second)) continue;
        if (AssignAll(setting, found->second, name)) break;
      }
    }
    RefuseUnknown(environment, known);
  }

  /// Skips flags that belong to the subcommand alone and are no setting.
  void ReadFlags(const std::vector<std::pair<std::string, std::string>>& flags) {
    for (const auto& [key, text] : flags) {
      const Setting* setting = FindSetting(key);
      if (setting != nullptr) Assign(*setting, text, {Source::kFlag, "--" + key});
    }
  }

  /// Returns the settings, or one error with all complaints. An unreadable file alone keeps its
  /// kind of error, which decides the exit code.
  Result<Loaded> Finish() && {
    if (complaints_.empty() && unreadable_) return *std::move(unreadable_);
    if (complaints_.empty()) return std::move(loaded_);
    if (unreadable_) complaints_.insert(complaints_.begin(), unreadable_->message());
    return Error(ErrorKind::kInvalid, fmt::format("{}", fmt::join(complaints_, "\n")));
  }

 private:
  void Complain(std::string text) { complaints_.push_back(std::move(text)); }

  /// Sets the setting from the variable `name`. Returns false if the value is bad and ignored.
  bool AssignAll(const Setting& setting, const std::string& value, const std::string& name) {
    const bool lenient = setting.env_is_lenient && name != EnvironmentName(setting);
    for (const std::string& text : EnvironmentItems(setting, value)) {
      const Complaint complaint = TryAssign(setting, text, {Source::kEnvironment, name});
      if (!complaint) continue;
      if (!lenient) {
        Complain(*complaint);
        continue;
      }
      loaded_.warnings.push_back(*complaint + "; it counts as not set");
      return false;
    }
    return true;
  }

  /// As TryAssign(), for sources whose mistakes stop the start.
  void Assign(const Setting& setting, const std::string& text, const Origin& origin) {
    if (const Complaint complaint = TryAssign(setting, text, origin)) Complain(*complaint);
  }

  /// Returns what is wrong with a value that is not allowed; the setting then keeps its value.
  Complaint TryAssign(const Setting& setting, const std::string& text, const Origin& origin) {
    Origin& known = loaded_.origins[std::string(setting.key)];
    // A list collects the items of one source. A source with more precedence starts the list anew.
    if (known.source != origin.source) {
      if (const auto* list = std::get_if<std::vector<std::string> Settings::*>(&setting.member)) {
        (loaded_.settings.*(*list)).clear();
      }
    }
    const Complaint complaint =
        std::visit(TextAssigner(loaded_.settings, setting, text), setting.member);
    if (complaint) {
      return fmt::format("{} = \"{}\": {}", origin.name, PrintableForQuotes(text, 80), *complaint);
    }
    known = origin;
    return std::nullopt;
  }

  /// A misspelled variable would otherwise be ignored, and the operator would believe that the
  /// setting holds.
  void RefuseUnknown(const std::map<std::string, std::string>& environment,
                     const std::vector<std::string>& known) {
    // The common prefix is left out of the comparison, because it makes every name similar to every
    // other.
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
  /// Why the settings file could not be read.
  std::optional<Error> unreadable_;
};

/// Returns the file that a flag or the environment names, else the first default file that exists.
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

/// Returns the value of the variable; "" if it is not set.
std::string Lookup(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

/// Returns `$variable/polybox`, else `~/fallback/polybox`.
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

/// Sets the default directories, which depend on the user and on the environment.
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
  // The paths are made absolute, because installers and jails run in other working directories.
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
  const std::string host = net::SplitHostPort(settings.listen).value_or(net::HostPortText()).host;
  return net::JoinHostPort(host, static_cast<std::uint16_t>(settings.port));
}

}  // namespace polybox::config
