# Prints the mirrors and repositories of Maven's settings, and settings without credentials that name
# the proxy at $1:$2, because Maven does not read the variables for it. The notation is that of
# src/registries/client_answer.h.
set -eu
home=${MAVEN_HOME:-${M2_HOME:-}}
if [ -z "$home" ]; then
  program=$(command -v mvn || true)
  if [ -n "$program" ]; then home=$(dirname "$(dirname "$(readlink -f "$program")")"); fi
fi
found=
for file in "$HOME/.m2/settings.xml" "$home/conf/settings.xml"; do
  if [ -r "$file" ]; then found="$found $file"; fi
done
# Each record is one tag and the text behind it. Only elements below the kept paths are printed: no
# servers, no proxies and no properties, which may hold credentials.
# shellcheck disable=SC2086
cat $found /dev/null | awk -v RS='<' -v proxy_host="$1" -v proxy_port="$2" '
  function path(  i, text) {
    for (i = 1; i <= depth; i++) text = text "/" names[i]
    return text
  }
  function is_kept(at) {
    return at ~ /^\/settings\/mirrors\/mirror/ ||
           at ~ /^\/settings\/profiles\/profile(\/(id|activation|repositories|pluginRepositories)|$)/ ||
           at ~ /^\/settings\/activeProfiles\/activeProfile/
  }
  function part_of(at) { split(at, words, "/"); return words[3] }
  /^!--/ { in_comment = 1 }
  in_comment { if ($0 ~ /-->/) in_comment = 0; next }
  /^[?!]/ { next }
  {
    end = index($0, ">")
    if (end == 0) next
    tag = substr($0, 1, end - 1)
    text = substr($0, end + 1)
    gsub(/^[ \t\r\n]+|[ \t\r\n]+$/, "", text)
    if (tag ~ /^\//) {
      at = path()
      if (is_kept(at)) kept[part_of(at)] = kept[part_of(at)] "<" tag ">"
      if (depth > 0) depth--
      next
    }
    name = tag
    sub(/[ \t\r\n\/].*/, "", name)
    # The root element of a second file is the same.
    if (name == "settings") depth = 0
    names[++depth] = name
    at = path()
    if (name == "url" && is_kept(at) && text !~ /\/\/0\.0\.0\.0/) print "registry", text
    if (is_kept(at)) kept[part_of(at)] = kept[part_of(at)] "<" name ">" text
    if (tag ~ /\/$/) {
      if (is_kept(at)) kept[part_of(at)] = kept[part_of(at)] "</" name ">"
      depth--
    }
  }
  END {
    print "file .m2/settings.xml"
    print "| <settings>"
    print "| <proxies>"
    for (i = 1; i <= 2; i++) {
      protocol = i == 1 ? "https" : "http"
      printf "| <proxy><id>polybox-%s</id><active>true</active><protocol>%s</protocol>", protocol, protocol
      printf "<host>%s</host><port>%s</port><nonProxyHosts>localhost|127.0.0.1</nonProxyHosts></proxy>\n", proxy_host, proxy_port
    }
    print "| </proxies>"
    count = split("mirrors profiles activeProfiles", parts, " ")
    for (i = 1; i <= count; i++) {
      if (kept[parts[i]] == "") continue
      gsub(/[\r\n]+/, " ", kept[parts[i]])
      printf "| <%s>%s</%s>\n", parts[i], kept[parts[i]], parts[i]
    }
    print "| </settings>"
  }
'
