# SPDX-License-Identifier: Apache-2.0
# The dashboard in a terminal, in a real one: tmux has the terminal, this looks at it and types.
. "$(dirname "$0")/lib.sh"
command -v tmux >/dev/null || fail "tmux is needed: ./dev test installs it"
export LC_ALL=C.UTF-8

# A tmux of its own, by its socket, and what is done with it.
tmux() { TERM=xterm-256color command tmux -S "$work_dir/tmux" -f /dev/null "$@"; }
screen() { tmux capture-pane -p -t top; }
keys() { tmux send-keys -t top "$@"; }
shows() { screen | grep -qF -- "$1"; }
shows_not() { ! shows "$1"; }
# Rows of the table, by their id: it is named elsewhere, too.
lists() { screen | grep -q "^$1"; }
lists_not() { ! lists "$1"; }
row_shows() { screen | grep "^$1" | grep -qF -- "$2"; }
line_of() { screen | grep -n "^$1" | cut -d: -f1; }
above() { [ "$(line_of "$1")" -lt "$(line_of "$2")" ]; }
last_line() { screen | tail -n 1 | grep -qF -- "$1"; }
# soon COMMAND...: until it holds, for fifteen seconds; otherwise the screen is told.
soon() {
  local i
  for ((i = 0; i < 300; i++)); do
    if "$@" 2>/dev/null; then return 0; fi
    sleep 0.05
  done
  screen >screen.log
  fail "never came true: $*" 1
}

serve
# No terminal, wrong words, nobody there.
exits 2 allot top
has "$err" 'top needs a terminal'
has "$err" 'allot top --once'
exits 2 allot top --once --interval 10ms
exits 2 allot top --once --sort nothing
has "$err" 'it is one of id state user'
exits 2 allot top --once --filter state:runing
has "$err" 'there is no state `runing`'
exits 3 allot top --once --server http://127.0.0.1:1
exits 4 allot top --once --queue nowhere

job=$(allot submit --tag slow --count 40 --user ann)
other=$(allot submit --tag nobody --count 7 --user bob)

# Once, as text.
text=$(allot top --once --width 120 --height 30)
has "$text" 'queue default'
has "$text" "$job"
has "$text" 'ann'
hasnt "$text" $'\e'
same 30 "$(allot top --once --width 120 --height 30 | wc -l)"
same 12 "$(COLUMNS=50 LINES=12 allot top --once | wc -l)"
same '' "$(LC_ALL=C allot top --once --width 60 --height 20 | LC_ALL=C tr -d '\n -~')"
has "$(allot top --once --tab reasons --width 120)" 'REASON'
has "$(allot top --once --tab workers --width 120)" 'none'
text=$(allot top --once --filter user:bob --width 120)
has "$text" "$other"
hasnt "$text" $'\n'"$job"

# Live. A shell stays behind it, to see what is left of the screen.
tmux new-session -d -s top -x 120 -y 30 "PS1='ready> ' bash --norc --noprofile"
pids+=("$(tmux display-message -p '#{pid}')")
soon shows 'ready>'
keys 'allot top' Enter
soon shows 'allot top  queue default'
soon shows 'live'
soon row_shows "$job" 'ann'
row_shows "$job" 'slow' || fail "no tags in $(screen)"

# It changes by itself.
new=$(allot submit --tag later --count 3 --user cleo)
soon row_shows "$new" 'cleo'
worker slow -j 4 -- sleep 0.2
soon row_shows "$job" '█'
worker_id=$(allot workers -o id)

# Sorted by user, which is the third column; and the other way round.
keys s s s
soon shows 'USER▲'
soon above "$job" "$new"
keys r
soon shows 'USER▼'
soon above "$new" "$job"

# Filtered by the server; a state that is none is told, and changes nothing.
keys / 'user:bob' Enter
soon lists_not "$job"
soon lists "$other"
keys / C-u 'state:runing' Enter
soon shows 'there is no state `runing`'
soon lists "$other"

# Paused, and resumed.
keys p
soon shows "job $other is paused"
json "$(allot job "$other" -o json)" '.paused'
soon row_shows "$other" 'paused'
keys p
soon shows "job $other is active"

# Why nobody takes it.
keys e
soon shows 'verdict: no worker has been seen with the tag'
soon shows 'with its tags'
keys Escape
soon shows_not 'verdict:'

# Cancelling asks, and no is no.
keys c
soon shows "cancel job $other? y/N"
keys n
soon shows 'left as it is'
json "$(allot job "$other" -o json)" '.state == "active"'
keys c
soon shows "cancel job $other? y/N"
keys y
soon shows "job $other is cancelled"
json "$(allot job "$other" -o json)" '.state == "cancelled"'

# Many at once: counted first.
for _ in 1 2 3; do allot submit --tag nobody --count 2 --user dora >>dora.log; done
keys / C-u 'user:dora' Enter
soon shows 'dora'
keys C
soon shows 'cancel 3 jobs with 6 unfinished tasks? y/N'
keys y
soon shows '3 jobs cancelled'
keys / C-u Enter
soon lists "$job"

# The other tables, and one worker.
keys 2
soon row_shows "$worker_id" 'connected'
keys Enter
soon shows "worker $worker_id"
soon shows 'of 4 in use'
keys Escape
keys 3
soon shows 'REASON'
soon shows 'no match'
keys 4
soon shows 'SHARE'
soon shows 'cleo'
keys 5
soon shows 'LIMIT'
allot limit set --tag watched --expr 'MY.User == "ann"' --rate 5/60s --expires 60s >limit.log
soon row_shows 'watched' '5/1m'
keys 1
soon shows 'PROGRESS'

# Another size.
tmux resize-window -t top -x 60 -y 16
soon last_line 'q quit'
same 16 "$(screen | wc -l)"
soon lists "$job"
tmux resize-window -t top -x 120 -y 30
soon shows 'WAIT REASON'

# Stopped, and continued.
keys C-z
soon shows 'Stopped'
keys 'fg' Enter
soon shows 'allot top  queue default'
soon shows_not 'Stopped'

# Frozen: nothing changes; then it does.
keys t
soon shows 'frozen'
late=$(allot submit --tag later --count 3 --user late)
sleep 2  # longer than a change takes to be shown
lists_not "$late" || fail "frozen, and yet it changes"
keys t
soon lists "$late"

# Another queue, and back.
allot queue create elsewhere >queue.log
keys Q
soon shows ' elsewhere'
keys j Enter
soon shows 'allot top  queue elsewhere'
soon shows 'none'
keys Q k Enter
soon lists "$job"

# The server goes, and comes back: the last picture stays.
kill "$server_pid"
ends "$server_pid"
soon shows 'no connection'
soon shows 'trying again'
lists "$job" || fail "the last picture is gone"
serve
soon shows 'live'
soon shows_not 'trying again'

# What strangers name is text: what looks like the end of an escape sequence, and a mark that turns the line around.
"$ALLOT_BIN" work --tag odd --name $'a[31mb\u202ec' --quiet -- cat 2>>work.log &
pids+=($!)
keys 2
soon shows 'a[31mbc'

# Quitting gives the terminal back.
keys q
soon shows 'ready>'
soon shows_not 'allot top  queue'
keys 'echo code=$?' Enter
soon shows 'code=0'
keys 'stty -a' Enter
soon shows 'isig icanon iexten echo '
# So does a signal.
keys 'clear; allot top' Enter
soon shows 'allot top  queue default'
kill -TERM "$(pgrep -P "$(tmux display-message -p -t top '#{pane_pid}')")"
soon shows_not 'allot top  queue'
keys 'echo code=$?' Enter
soon shows 'code=130'
keys 'clear; stty -a' Enter
soon shows 'isig icanon iexten echo '
tmux kill-server
