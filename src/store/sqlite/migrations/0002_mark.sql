-- Which file this is, so that its mark (FILE.mark) can be told from another's; and whether it is in use, or was not
-- closed: then the mark must be there.
ALTER TABLE state ADD COLUMN store INTEGER NOT NULL DEFAULT 0;
ALTER TABLE state ADD COLUMN in_use INTEGER NOT NULL DEFAULT 0;
UPDATE state SET store = random();
