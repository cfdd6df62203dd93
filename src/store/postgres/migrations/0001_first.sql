-- Which program may use this schema. `compatible` is the lowest number of migrations that a program must know: one that
-- only adds leaves it as it is, one that takes away raises it. `feature_level` is what records may be written in.
CREATE TABLE cluster (id int PRIMARY KEY CHECK (id = 1), version int NOT NULL, compatible int NOT NULL,
                      feature_level int NOT NULL);
INSERT INTO cluster VALUES (1, 0, 1, 1);

-- The queues by name. What a deleted one left behind goes in steps; its number is never used again.
CREATE TABLE queues (number int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text COLLATE "C" NOT NULL,
                     made timestamptz NOT NULL DEFAULT now(), deleted timestamptz);
CREATE UNIQUE INDEX queues_by_name ON queues (name) WHERE deleted IS NULL;

-- Who owns a queue, and up to where it is. Every commit ends by changing this row under the owner's epoch and the number
-- of the commit before; whoever has lost either changes nothing. No index but the key, and free space in the page, so
-- that these changes stay in place.
CREATE TABLE heads (queue int PRIMARY KEY, epoch bigint NOT NULL DEFAULT 0, owner text NOT NULL DEFAULT '',
                    incarnation text NOT NULL DEFAULT '', since timestamptz NOT NULL DEFAULT now(),
                    commits bigint NOT NULL DEFAULT 0, pos bigint NOT NULL DEFAULT 0, floor bigint NOT NULL DEFAULT 0,
                    next_seq bigint NOT NULL DEFAULT 1, bytes bigint NOT NULL DEFAULT 0)
  WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

-- Ends the transaction of an owner that is none any more.
CREATE FUNCTION fenced(queue bigint) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'queue %: another server has taken it over', queue USING ERRCODE = 'AL001';
END $$;

-- Below, `sum` is the checksum of a row's key and blob. Blobs are packed as in a queue's file, and are not compressed
-- again; up to a page's worth they stay in the row.

-- Events, one packed row a commit; pos is the highest position in it.
CREATE TABLE journal (queue int, pos bigint, events bytea NOT NULL, sum int NOT NULL, PRIMARY KEY (queue, pos))
  WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0,
        toast.autovacuum_vacuum_threshold = 8000, toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE journal ALTER COLUMN events SET STORAGE EXTERNAL;

-- What the events fold into: a job's own record, and one for each page of its tasks.
CREATE TABLE jobs (queue int, id bigint, record bytea NOT NULL, sum int NOT NULL, PRIMARY KEY (queue, id))
  WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE jobs ALTER COLUMN record SET STORAGE EXTERNAL;
CREATE TABLE pages (queue int, job bigint, page bigint, record bytea NOT NULL, sum int NOT NULL,
                    PRIMARY KEY (queue, job, page))
  WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE pages ALTER COLUMN record SET STORAGE EXTERNAL;

-- Packed payloads of consecutive tasks, from `first` on; -1 is the one for all tasks.
CREATE TABLE payloads (queue int, set_id bigint, first bigint, segment bytea NOT NULL, sum int NOT NULL,
                       PRIMARY KEY (queue, set_id, first))
  WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE payloads ALTER COLUMN segment SET STORAGE EXTERNAL;
-- Payload sets of which maybe no job speaks: asked about at the next start.
CREATE TABLE loose (queue int, set_id bigint, PRIMARY KEY (queue, set_id));

-- Packed outcomes of tasks lowest..highest of one slice of a job; a higher seq was written later.
CREATE TABLE outcomes (queue int, job bigint, slice bigint, seq bigint, lowest bigint NOT NULL, highest bigint NOT NULL,
                       packed bytea NOT NULL, sum int NOT NULL, PRIMARY KEY (queue, job, slice, seq))
  WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE outcomes ALTER COLUMN packed SET STORAGE EXTERNAL;

-- Removed, but not yet swept. Either may be 0.
CREATE TABLE garbage (queue int, seq bigint, job bigint NOT NULL, set_id bigint NOT NULL, PRIMARY KEY (queue, seq))
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE settings (queue int, name text COLLATE "C", value bytea NOT NULL, sum int NOT NULL,
                       PRIMARY KEY (queue, name));
