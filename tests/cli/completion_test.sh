# SPDX-License-Identifier: Apache-2.0
# Completion scripts are valid in their shells, and know the commands.
. "$(dirname "$0")/lib.sh"
for shell in bash zsh fish; do
  allot completion "$shell" >"allot.$shell"
  for word in submit results completion; do has "$(cat "allot.$shell")" "$word"; done
done
bash -n allot.bash
if command -v zsh >/dev/null; then zsh -n allot.zsh; fi
if command -v fish >/dev/null; then fish -n allot.fish; fi

# In bash they complete.
complete_words() {
  bash --norc -c '
    source ./allot.bash
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
    function=$(complete -p allot | sed "s/.*-F \([^ ]*\).*/\1/")
    "$function" allot "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sed 's/ *$//'
}
has "$(complete_words allot sub)" "submit"
has "$(complete_words allot submit --pri)" "--priority"
has "$(complete_words allot queue cre)" "create"
has "$(complete_words allot limit re)" "renew"
has "$(complete_words allot limit set --max)" "--max-burst-cost"
has "$(complete_words allot dem)" "demand"
has "$(complete_words allot to)" "top"
has "$(complete_words allot top --o)" "--once"

# What a value can be is offered, where it is one of some words.
has "$(complete_words allot jobs --state a)" "active"
has "$(complete_words allot jobs -o nd)" "ndjson"
has "$(complete_words allot work --strategy le)" "least_recent"
has "$(complete_words allot queue set --dispatch b)" "balanced"
has "$(complete_words allot tasks last --state sk)" "skipped"
has "$(complete_words allot completion f)" "fish"
