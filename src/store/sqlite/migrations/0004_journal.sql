-- The groups of the journal beside this file (FILE.journal-N) that are in it: all up to this one.
ALTER TABLE state ADD COLUMN applied INTEGER NOT NULL DEFAULT 0;
