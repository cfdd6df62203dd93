# SPDX-License-Identifier: Apache-2.0
# `./dev pictures` works: its recording of a terminal is made from the real program, and says what that said. The
# pictures that pages show are there.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cli/lib.sh"

for tool in node script python3; do command -v "$tool" >/dev/null || skip "no $tool"; done
node "$root/tools/pictures.mjs" "$ALLOT_BIN" "$PWD/pictures" recording
# Text, colours and animation, as XML; nothing that a page's policy forbids.
python3 - pictures/explain.svg <<'PYTHON'
import sys
import xml.etree.ElementTree as xml
root = xml.parse(sys.argv[1]).getroot()
tags = {element.tag.rpartition("}")[2] for element in root.iter()}
assert tags == {"svg", "rect", "circle", "g", "text", "animate"}, tags
assert not any("style" in element.attrib for element in root.iter())
said = " ".join(element.text for element in root.iter() if element.text and element.text.strip())
for part in ("allot explain last", "WORKERS", "with its tags", "thumbnails"):
    assert part in said, f"the recording lacks {part!r}: {said}"
PYTHON
for picture in overview.png job.png explain.svg; do
  test -s "$root/docs/pictures/$picture" || fail "there is no docs/pictures/$picture; ./dev pictures makes it"
  grep -rqF "pictures/$picture" "$root/README.md" "$root/docs" --include=*.md || fail "no page shows $picture"
done
has "$(head -c 8 "$root/docs/pictures/overview.png" | od -An -c)" "P   N   G"
