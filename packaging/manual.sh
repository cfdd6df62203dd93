#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual page, from what the program says of itself: manual.sh PROGRAM VERSION DATE
set -eu
program=$1 version=$2 date=$3

# escape: text that roff shows as it is.
escape() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"; }

cat <<ROFF
.TH ALLOT 1 "$date" "allot $version" "Allotter"
.SH NAME
allot \- which worker gets which piece of work next
.SH SYNOPSIS
.B allot
.I command
.RI [ options ]
.SH DESCRIPTION
Allotter is a durable work\-queue server. One program,
.BR allot ,
is the server, the worker and the command line.
.B allot
.I command
.B \-\-help
tells of a command; below stands what each of them says.
.SH COMMANDS
.nf
ROFF
# Connection options stand with every command; the data directory's default is that of whoever asks.
HOME='~' XDG_DATA_HOME= "$program" --help-all | escape
cat <<'ROFF'
.fi
.SH FILES
.TP
.I /etc/allotter/allotter.toml
Settings of the server.
.TP
.I /var/lib/allotter
Queues and hashed tokens.
.SH SEE ALSO
.I /usr/share/doc/allotter
has the pages on every part, of which
.I docs/README.md
is the index.
ROFF
