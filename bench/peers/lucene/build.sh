#!/usr/bin/env bash
# Fetches Lucene and compiles the peer into the folder $2. $1 is v9 or v4, see pom.xml. What is there is kept, so
# that only the first run of a machine needs a network; a peer that has changed is compiled again.
set -euo pipefail
cd "$(dirname "$0")"

profile=$1
folder=$2
for program in mvn javac; do
  command -v "$program" >/dev/null || { echo "$program is missing: Lucene needs a JDK of 17 or later and Maven" >&2; exit 1; }
done
mkdir -p "$folder"
if ! cmp -s pom.xml "$folder/pom.xml"; then
  rm -rf "$folder/packages"
  mvn -q -B -P "$profile" dependency:copy-dependencies -DoutputDirectory="$folder/packages" >&2
  cp pom.xml "$folder/pom.xml"
fi
rm -rf "$folder/classes"
javac -nowarn -d "$folder/classes" -cp "$folder/packages/*" ./*.java "$profile"/*.java
