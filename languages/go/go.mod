module sandbox

go {version_number}

require golang.org/x/text v0.34.0
