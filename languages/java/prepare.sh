echo 'public class Main { public static void main(String[] a) { System.out.println("a" + a.length); } }' \
  > Main.java
exec "$0" -J-XX:ArchiveClassesAtExit="$1/javac.jsa" -J-Xmx160m -J-XX:+UseSerialGC \
  -J-XX:TieredStopAtLevel=1 -J-XX:-UsePerfData -encoding UTF-8 -proc:none Main.java
