-- Events, one packed row per commit; pos is the highest position in it.
CREATE TABLE journal (pos INTEGER PRIMARY KEY, events BLOB NOT NULL);

-- What the events fold into: a job's own record, and one per page of its tasks.
CREATE TABLE jobs (id INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE pages (job INTEGER NOT NULL, page INTEGER NOT NULL, record BLOB NOT NULL, PRIMARY KEY (job, page)) WITHOUT ROWID;

-- Packed payloads of consecutive tasks, from `first` on; -1 is the one for all tasks. The first segment of a set is its
-- head, if it begins with the first task or is for all: most sets have no other, and such rows need no overflow page up
-- to 4,000 bytes.
CREATE TABLE payload_heads (set_id INTEGER PRIMARY KEY, first INTEGER NOT NULL, segment BLOB NOT NULL);
CREATE TABLE payloads (set_id INTEGER NOT NULL, first INTEGER NOT NULL, segment BLOB NOT NULL,
                       PRIMARY KEY (set_id, first)) WITHOUT ROWID;
-- Payload sets of which maybe no job speaks: asked about at the next start.
CREATE TABLE loose (set_id INTEGER PRIMARY KEY);

-- Packed outcomes, appended; a higher seq was written later. The index says where those of tasks lowest..highest of one
-- slice of a job are.
CREATE TABLE outcomes (seq INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE outcome_index (job INTEGER NOT NULL, slice INTEGER NOT NULL, seq INTEGER NOT NULL, lowest INTEGER NOT NULL,
                            highest INTEGER NOT NULL, PRIMARY KEY (job, slice, seq)) WITHOUT ROWID;

-- Removed, but not yet swept. Either may be 0.
CREATE TABLE garbage (seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, set_id INTEGER NOT NULL);

CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

-- One row. Events up to `floor` are in records.
CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), floor INTEGER NOT NULL);
INSERT INTO state VALUES (1, 0);
