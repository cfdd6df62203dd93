-- Servers that share the queues. A node raises its `beat` all the time; whoever sees the same one for long declares it
-- dead, which it cannot undo: it begins anew under another incarnation. What a node has begins with its incarnation and
-- a dot in `heads.incarnation`. As heads: no index but the key, and free space in the page.
CREATE TABLE nodes (name text COLLATE "C" PRIMARY KEY, incarnation text NOT NULL, beat bigint NOT NULL DEFAULT 0,
                    dead boolean NOT NULL DEFAULT false, draining boolean NOT NULL DEFAULT false,
                    address text NOT NULL, version text NOT NULL, secret_check text NOT NULL,
                    started timestamptz NOT NULL DEFAULT now())
  WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

-- The node on which a queue is to be, as long as that one lives; empty: any.
ALTER TABLE queues ADD COLUMN pinned text NOT NULL DEFAULT '';
