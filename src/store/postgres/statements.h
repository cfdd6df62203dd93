// SPDX-License-Identifier: Apache-2.0
// The statements of an owner's connection. Integers are given as 8 bytes, whatever the column's width.
#pragma once

#include <span>

#include "store/postgres/connection.h"

namespace allot::postgres {

// $1 is the queue's number in all.

// The last of every commit: $2 epoch, $3 the number of the commit before, then the new head.
inline constexpr Statement kFence{
    "fence",
    "WITH head AS (UPDATE heads SET commits = commits + 1, pos = $4::bigint, floor = $5::bigint, next_seq = "
    "$6::bigint, "
    "bytes = $7::bigint WHERE queue = $1::bigint AND epoch = $2::bigint AND commits = $3::bigint RETURNING 1) SELECT "
    "CASE WHEN EXISTS (SELECT FROM head) THEN 0 ELSE fenced($1::bigint) END"};

inline constexpr Statement kPutEvents{"put_events",
                                      "INSERT INTO journal VALUES ($1::bigint, $2::bigint, $3::bytea, $4::bigint)"};
// Gives how many rows, and how many bytes went.
inline constexpr Statement kDropEvents{"drop_events",
                                       "WITH gone AS (DELETE FROM journal WHERE queue = $1::bigint AND pos <= "
                                       "$2::bigint RETURNING octet_length(events) AS "
                                       "n) SELECT count(*), coalesce(sum(n), 0)::bigint FROM gone"};
// Behind $2 up to $3, at most $4 rows; also gives the last one's position.
inline constexpr Statement kDropSomeEvents{
    "drop_some_events",
    "WITH gone AS (DELETE FROM journal WHERE ctid = ANY(ARRAY(SELECT ctid FROM journal WHERE queue = $1::bigint AND "
    "pos "
    "> $2::bigint AND pos <= $3::bigint ORDER BY pos LIMIT $4::bigint)) RETURNING octet_length(events) AS n, pos) "
    "SELECT "
    "count(*), coalesce(sum(n), 0)::bigint, coalesce(max(pos), 0)::bigint FROM gone"};

inline constexpr Statement kPutPayloads{
    "put_payloads",
    "INSERT INTO payloads SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[]) ON "
    "CONFLICT (queue, set_id, first) DO UPDATE SET segment = excluded.segment, sum = excluded.sum"};
inline constexpr Statement kPutLoose{
    "put_loose", "INSERT INTO loose SELECT $1::bigint, * FROM unnest($2::bigint[]) ON CONFLICT DO NOTHING"};
inline constexpr Statement kPutOutcomes{
    "put_outcomes",
    "INSERT INTO outcomes SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], "
    "$6::bigint[], $7::bytea[], $8::bigint[])"};

// These four give how many bytes were there before.
inline constexpr Statement kPutJobs{
    "put_jobs",
    "WITH old AS (SELECT coalesce(sum(octet_length(record)), 0)::bigint AS n FROM jobs WHERE queue = $1::bigint AND id "
    "= "
    "ANY($2::bigint[])), put AS (INSERT INTO jobs SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bytea[], "
    "$4::bigint[]) ON CONFLICT (queue, id) DO UPDATE SET record = excluded.record, sum = excluded.sum) SELECT n FROM "
    "old"};
inline constexpr Statement kDeleteJobs{
    "delete_jobs",
    "WITH gone AS (DELETE FROM jobs WHERE queue = $1::bigint AND id = ANY($2::bigint[]) RETURNING octet_length(record) "
    "AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone"};
inline constexpr Statement kPutPages{
    "put_pages",
    "WITH input AS (SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[]) AS i (job, page, "
    "record, "
    "sum)), old AS (SELECT coalesce(sum(octet_length(p.record)), 0)::bigint AS n FROM unnest($2::bigint[], "
    "$3::bigint[]) "
    "AS i (job, page) CROSS JOIN LATERAL (SELECT record FROM pages WHERE queue = $1::bigint AND job = i.job AND page = "
    "i.page LIMIT 1) p), put AS (INSERT INTO pages SELECT $1::bigint, * FROM input ON CONFLICT (queue, job, page) DO "
    "UPDATE SET record = excluded.record, sum = excluded.sum) SELECT n FROM old"};
inline constexpr Statement kDeletePages{
    "delete_pages",
    "WITH gone AS (DELETE FROM pages WHERE ctid = ANY(ARRAY(SELECT p.ctid FROM unnest($2::bigint[], $3::bigint[]) AS i "
    "(job, page) CROSS JOIN LATERAL (SELECT ctid FROM pages WHERE queue = $1::bigint AND job = i.job AND page = i.page "
    "LIMIT 1) p)) RETURNING octet_length(record) AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone"};

inline constexpr Statement kPutGarbage{
    "put_garbage", "INSERT INTO garbage SELECT $1::bigint, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])"};

// Of the jobs, or sets, $2 at most $3 rows: gives how many rows, and how many bytes went.
inline constexpr Statement kSweepOutcomes{
    "sweep_outcomes",
    "WITH gone AS (DELETE FROM outcomes WHERE ctid = ANY(ARRAY(SELECT ctid FROM outcomes WHERE queue = $1::bigint AND "
    "job "
    "= ANY($2::bigint[]) LIMIT $3::bigint)) RETURNING octet_length(packed) AS n) SELECT count(*), coalesce(sum(n), "
    "0)::bigint FROM gone"};
inline constexpr Statement kSweepPayloads{
    "sweep_payloads",
    "WITH gone AS (DELETE FROM payloads WHERE ctid = ANY(ARRAY(SELECT ctid FROM payloads WHERE queue = $1::bigint AND "
    "set_id = ANY($2::bigint[]) LIMIT $3::bigint)) RETURNING octet_length(segment) AS n) SELECT count(*), "
    "coalesce(sum(n), 0)::bigint FROM gone"};
inline constexpr Statement kSweepPages{
    "sweep_pages",
    "WITH gone AS (DELETE FROM pages WHERE ctid = ANY(ARRAY(SELECT ctid FROM pages WHERE queue = $1::bigint AND job = "
    "ANY($2::bigint[]) LIMIT $3::bigint)) RETURNING octet_length(record) AS n) SELECT count(*), coalesce(sum(n), "
    "0)::bigint FROM gone"};
inline constexpr Statement kSweepLoose{"sweep_loose",
                                       "DELETE FROM loose WHERE queue = $1::bigint AND set_id = ANY($2::bigint[])"};
// Those $2 whose jobs $3 and sets $4 have left nothing behind.
inline constexpr Statement kDropGarbage{
    "drop_garbage",
    "DELETE FROM garbage WHERE queue = $1::bigint AND seq = ANY($2::bigint[]) AND NOT EXISTS (SELECT FROM outcomes "
    "WHERE "
    "queue = $1::bigint AND job = ANY($3::bigint[])) AND NOT EXISTS (SELECT FROM payloads WHERE queue = $1::bigint AND "
    "set_id = ANY($4::bigint[])) AND NOT EXISTS (SELECT FROM pages WHERE queue = $1::bigint AND job = "
    "ANY($3::bigint[]))"};
inline constexpr Statement kDropLoose{"drop_loose", "DELETE FROM loose WHERE queue = $1::bigint"};

inline constexpr Statement kPutSetting{
    "put_setting",
    "INSERT INTO settings VALUES ($1::bigint, $2::text, $3::bytea, $4::bigint) ON CONFLICT (queue, name) DO UPDATE SET "
    "value = excluded.value, sum = excluded.sum"};
inline constexpr Statement kGetSetting{"get_setting",
                                       "SELECT value, sum FROM settings WHERE queue = $1::bigint AND name = $2::text"};

inline std::span<const Statement> WriteStatements() {
  static constexpr Statement kAll[] = {kFence,       kPutEvents,   kDropEvents,    kDropSomeEvents, kPutPayloads,
                                       kPutLoose,    kPutOutcomes, kPutJobs,       kDeleteJobs,     kPutPages,
                                       kDeletePages, kPutGarbage,  kSweepOutcomes, kSweepPayloads,  kSweepPages,
                                       kSweepLoose,  kDropGarbage, kDropLoose,     kPutSetting,     kGetSetting};
  return kAll;
}

}  // namespace allot::postgres
