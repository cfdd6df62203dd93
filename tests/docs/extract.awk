# SPDX-License-Identifier: Apache-2.0
# Cuts the fenced `sh` and `bash` blocks out of a Markdown document.
#
#   awk -v out=DIR -f extract.awk FILE.md
#
# writes DIR/NNN.sh for every block that is to be run, named by the line that it begins at, and DIR/files/NAME for
# those that a comment `<!-- file: NAME -->` before them calls a file. `<!-- not run: REASON -->` before a block leaves
# it out; `<!-- first: COMMAND -->` is what must have happened before it. Prints how many blocks there were, and how many of them are run.
{
  if (inside) {
    if ($0 ~ /^ *```[ \t]*$/) {
      inside = 0
      if (target != "") close(target)
      remark = ""
    } else if (target != "") {
      print > target
    }
    next
  }
  if ($0 ~ /^ *```/) {
    inside = 1
    target = ""
    language = $0
    sub(/^ *```/, "", language)
    sub(/[ \t].*$/, "", language)
    if (language == "sh" || language == "bash") {
      blocks++
      if (remark ~ /^<!-- *not run: *[^ ]/) {
        skipped++
      } else if (remark ~ /^<!-- *file: /) {
        name = remark
        sub(/^<!-- *file: */, "", name)
        sub(/ *-->.*$/, "", name)
        target = out "/files/" name
        run++
      } else {
        target = sprintf("%s/%05d.sh", out, NR)
        run++
      }
      if (target != "") printf "" > target
      if (target != "" && remark ~ /^<!-- *first: /) {
        sub(/^<!-- *first: */, "", remark)
        sub(/ *-->.*$/, "", remark)
        print remark > target
      }
    }
    next
  }
  if ($0 !~ /^[ \t]*$/) remark = $0
}
END {
  if (inside) {
    print "a block is not closed" > "/dev/stderr"
    exit 1
  }
  printf "%d blocks, %d of them run\n", blocks, run
}
