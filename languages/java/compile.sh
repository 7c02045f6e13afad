javac=$0
entry=$1
shift
word='(@[[:alnum:]_.]+|public|final|abstract|sealed|non-sealed|strictfp)[[:space:]]+'
type='(class|interface|enum|record)[[:space:]]+([[:alpha:]_$][[:alnum:]_$]*).*'
public=$(sed -nE "/^($word)*public[[:space:]]+($word)*$type/{s//\6/p;q}" "$entry")
types=$(sed -nE "s/^($word)*$type/\4/p" "$entry")
package=$(sed -nE '/^package[[:space:]]+([[:alnum:]_$.]+)[[:space:]]*;.*/{s//\1./p;q}' "$entry")
stem=${entry##*/}
stem=${stem%.java}
if [ "$public" ] && [ ! -e "$public.java" ]; then
  mv -- "$entry" "$public.java"
  entry=${entry%/*}/$public.java
fi
"$javac" ${READY:+-J-XX:SharedArchiveFile="$READY"} "$@" "$entry" || exit
main=${public:-Main}
for class in "$public" "$stem" $types; do
  file=$(printf %s "$package$class" | tr . /).class
  LC_ALL=C grep -qaP '\x01\x00\x04main' "$file" 2>/dev/null && main=$class && break
done
printf '%s\n' "$package$main" > .main-class
