"""Prints the indexes that pip and uv are configured for, and configuration files without credentials. The notation is
that of src/registries/client_answer.h."""
import configparser
import os

try:
    import tomllib
except ImportError:  # Python 3.10 and older
    tomllib = None

HOME_CONFIG = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
PIP_FILES = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", os.path.expanduser("~/.pip/pip.conf"),
             f"{HOME_CONFIG}/pip/pip.conf", os.environ.get("PIP_CONFIG_FILE", "")]
PIP_KEYS = ["index-url", "extra-index-url"]
UV_FILES = ["/etc/uv/uv.toml", f"{HOME_CONFIG}/uv/uv.toml", os.environ.get("UV_CONFIG_FILE", "")]
UV_KEYS = ["index-url", "extra-index-url"]
VARIABLES = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"]


def pip_settings():
    """The last file wins, and within it the section of the command."""
    found = {}
    for path in PIP_FILES:
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, ValueError, configparser.Error):
            continue
        for section in ["global", "install"]:
            if parser.has_section(section):
                found.update({key: " ".join(parser.get(section, key).split())
                              for key in PIP_KEYS if parser.has_option(section, key)})
    return found


def uv_settings():
    """Tables of indexes, and the older keys."""
    found = {"index": []}
    for path in UV_FILES:
        try:
            with open(path, "rb") as file:
                table = tomllib.load(file) if tomllib else {}
        except (OSError, ValueError):
            continue
        found["index"] += [one for one in table.get("index", []) if isinstance(one, dict) and "url" in one]
        found.update({key: table[key] for key in UV_KEYS if key in table})
    return found


def toml(value):
    """A value as uv.toml has it: texts, lists of texts and truth values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    pip, uv = pip_settings(), uv_settings()
    for name in VARIABLES:
        # An index may have its name in front: "company=https://...".
        print("registry", *os.environ.get(name, "").split())
    print("registry", *pip.values())
    for key in UV_KEYS:
        print("registry", *(uv[key] if isinstance(uv.get(key), list) else [uv.get(key, "")]))
    if pip:
        print("file .config/pip/pip.conf\n| [global]")
        for key, value in pip.items():
            print("|", key, "=", value)
    if len(uv) > 1 or uv["index"]:
        print("file .config/uv/uv.toml")
        for key in UV_KEYS:
            if key in uv:
                print("|", key, "=", toml(uv[key]))
    for index in uv["index"]:
        print("| [[index]]")
        for key in ["name", "url", "default", "explicit"]:
            if key in index:
                print("|", key, "=", toml(index[key]))
    for index in uv["index"]:
        print("registry", index["url"])


main()
