# Downloads one small file: a parent project, which needs no plugin.
set -eu
cat >pom.xml <<'POM'
<project>
  <modelVersion>4.0.0</modelVersion>
  <parent>
    <groupId>org.apache</groupId>
    <artifactId>apache</artifactId>
    <version>21</version>
    <relativePath/>
  </parent>
  <groupId>trial</groupId>
  <artifactId>trial</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
</project>
POM
exec mvn --batch-mode --quiet --non-recursive validate
